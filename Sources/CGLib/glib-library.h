// GLib, for the rival that is made of its main loop. Debian's libglib2.0-dev.
#pragma once

#include <glib.h>
