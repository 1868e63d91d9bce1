// RESP
