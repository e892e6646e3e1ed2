/** Pixels of an image, as its header says. A camera of 50 megapixels has half as many. The process that decodes loads this file. */
export const mostPixels = 100_000_000
