/** The bounds of OCR that a request and the reader share. */

/** Pages of a document: a full page takes about 5 s, and no page begins after `mostOcrSeconds`. */
export const mostOcrPages = 10
/** Seconds of processor time after which no further page of a document begins. */
export const mostOcrSeconds = 30
