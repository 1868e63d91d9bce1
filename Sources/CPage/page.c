// The bytes of the page's files. A new file needs an #embed and a line of the table.
#include "page.h"

// The toolchain takes #embed in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t index_html[] = {
#embed "Assets/index.html"
};
static const uint8_t base_css[] = {
#embed "Assets/base.css"
};
static const uint8_t frame_css[] = {
#embed "Assets/frame.css"
};
static const uint8_t lanes_css[] = {
#embed "Assets/lanes.css"
};
static const uint8_t views_css[] = {
#embed "Assets/views.css"
};
static const uint8_t actions_js[] = {
#embed "Assets/actions.js"
};
static const uint8_t api_js[] = {
#embed "Assets/api.js"
};
static const uint8_t bulk_js[] = {
#embed "Assets/bulk.js"
};
static const uint8_t bytes_js[] = {
#embed "Assets/bytes.js"
};
static const uint8_t dialog_js[] = {
#embed "Assets/dialog.js"
};
static const uint8_t dom_js[] = {
#embed "Assets/dom.js"
};
static const uint8_t eventStream_js[] = {
#embed "Assets/eventStream.js"
};
static const uint8_t failuresView_js[] = {
#embed "Assets/failuresView.js"
};
static const uint8_t icon_svg[] = {
#embed "Assets/icon.svg"
};
static const uint8_t jobFilters_js[] = {
#embed "Assets/jobFilters.js"
};
static const uint8_t jobView_js[] = {
#embed "Assets/jobView.js"
};
static const uint8_t jobsView_js[] = {
#embed "Assets/jobsView.js"
};
static const uint8_t keys_js[] = {
#embed "Assets/keys.js"
};
static const uint8_t lane_js[] = {
#embed "Assets/lane.js"
};
static const uint8_t laneDrawing_js[] = {
#embed "Assets/laneDrawing.js"
};
static const uint8_t laneRows_js[] = {
#embed "Assets/laneRows.js"
};
static const uint8_t legend_js[] = {
#embed "Assets/legend.js"
};
static const uint8_t live_js[] = {
#embed "Assets/live.js"
};
static const uint8_t liveState_js[] = {
#embed "Assets/liveState.js"
};
static const uint8_t logView_js[] = {
#embed "Assets/logView.js"
};
static const uint8_t main_js[] = {
#embed "Assets/main.js"
};
static const uint8_t parts_js[] = {
#embed "Assets/parts.js"
};
static const uint8_t router_js[] = {
#embed "Assets/router.js"
};
static const uint8_t schedulesView_js[] = {
#embed "Assets/schedulesView.js"
};
static const uint8_t session_js[] = {
#embed "Assets/session.js"
};
static const uint8_t shell_js[] = {
#embed "Assets/shell.js"
};
static const uint8_t text_js[] = {
#embed "Assets/text.js"
};
static const uint8_t threadView_js[] = {
#embed "Assets/threadView.js"
};
static const uint8_t threadsView_js[] = {
#embed "Assets/threadsView.js"
};
static const uint8_t time_js[] = {
#embed "Assets/time.js"
};
static const uint8_t trouble_js[] = {
#embed "Assets/trouble.js"
};
static const uint8_t verdict_js[] = {
#embed "Assets/verdict.js"
};
static const uint8_t waiting_js[] = {
#embed "Assets/waiting.js"
};
static const uint8_t workersView_js[] = {
#embed "Assets/workersView.js"
};

#define FILE_AT(path, kind, bytes) { path, kind "; charset=utf-8", bytes, sizeof bytes }
#define SCRIPT(name) FILE_AT("/" #name ".js", "text/javascript", name##_js)
#define STYLE(name) FILE_AT("/" #name ".css", "text/css", name##_css)

static const struct page_asset assets[] = {
    FILE_AT("/", "text/html", index_html),
    FILE_AT("/icon.svg", "image/svg+xml", icon_svg),
    STYLE(base),
    STYLE(frame),
    STYLE(lanes),
    STYLE(views),
    SCRIPT(actions),
    SCRIPT(api),
    SCRIPT(bulk),
    SCRIPT(bytes),
    SCRIPT(dialog),
    SCRIPT(dom),
    SCRIPT(eventStream),
    SCRIPT(failuresView),
    SCRIPT(jobFilters),
    SCRIPT(jobView),
    SCRIPT(jobsView),
    SCRIPT(keys),
    SCRIPT(lane),
    SCRIPT(laneDrawing),
    SCRIPT(laneRows),
    SCRIPT(legend),
    SCRIPT(live),
    SCRIPT(liveState),
    SCRIPT(logView),
    SCRIPT(main),
    SCRIPT(parts),
    SCRIPT(router),
    SCRIPT(schedulesView),
    SCRIPT(session),
    SCRIPT(shell),
    SCRIPT(text),
    SCRIPT(threadView),
    SCRIPT(threadsView),
    SCRIPT(time),
    SCRIPT(trouble),
    SCRIPT(verdict),
    SCRIPT(waiting),
    SCRIPT(workersView),
};

size_t page_asset_count(void) { return sizeof assets / sizeof *assets; }

struct page_asset page_asset_at(size_t index) { return assets[index]; }
