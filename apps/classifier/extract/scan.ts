/** Tells scanned pages by the density of their text and the area of their images. Pure. */

/** Characters without spaces of a page that may be a scan: the stamp of a court has up to about 400. */
export const mostSparse = 600

/** Characters without spaces of a page with nearly no text. */
export const nearlyNone = 30

/** A page is a scan if images cover half of it, or if it has nearly no text and any image that is larger than a logo. */
export const isScan = (characters: number, imageArea: number): boolean =>
  imageArea >= 0.5 || (characters < nearlyNone && imageArea >= 0.05)
