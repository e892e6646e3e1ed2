/**
 * Measures an image from its pixels: luminance histogram, blur score, perceptual hash, dominant colours. Pure functions over 8-bit RGB, row
 * by row.
 */

/** An image as 8-bit RGB, without gaps. */
export interface Pixels {
  data: Uint8Array
  width: number
  height: number
}

export interface Colour {
  /** Such as #1a2b3c. */
  hex: string
  /** The part of the pixels, 0 to 1. */
  share: number
}

/** The luminance (Rec. 709) of each pixel, 0 to 255, in whole numbers: 0.2126 R + 0.7152 G + 0.0722 B, each factor in parts of 65,536. */
export function luminanceOf({ data, width, height }: Pixels): Uint8Array {
  const luminance = new Uint8Array(width * height)
  for (let pixel = 0, at = 0; pixel < luminance.length; pixel++, at += 3)
    luminance[pixel] = (13_933 * data[at]! + 46_871 * data[at + 1]! + 4_732 * data[at + 2]! + 32_768) >> 16
  return luminance
}

/** The number of pixels of each luminance, 256 numbers. */
export function histogramOf(luminance: Uint8Array): number[] {
  const histogram = new Array<number>(256).fill(0)
  for (const value of luminance) histogram[value]!++
  return histogram
}

/**
 * The variance of the Laplacian: a low number is a blurred image. null: fewer than 3 x 3 pixels. The number depends on the size of the
 * image, so that only images of the same size are compared.
 */
export function blurScoreOf(luminance: Uint8Array, width: number, height: number): number | null {
  if (width < 3 || height < 3) return null
  let sum = 0
  let squares = 0
  for (let y = 1; y < height - 1; y++) {
    for (let x = 1; x < width - 1; x++) {
      const at = y * width + x
      const value =
        luminance[at - 1]! + luminance[at + 1]! + luminance[at - width]! + luminance[at + width]! - 4 * luminance[at]!
      sum += value
      squares += value * value
    }
  }
  const count = (width - 2) * (height - 2)
  const mean = sum / count
  return Math.round((squares / count - mean * mean) * 100) / 100
}

const columns = 9
const rows = 8

/**
 * The difference hash of 64 bits, as 16 hex digits: each bit says whether a cell of a 9 x 8 grid is darker than its right neighbour. The
 * hash survives another size, quality or format; the number of different bits is the distance of two images.
 */
export function perceptualHashOf(luminance: Uint8Array, width: number, height: number): string {
  let hash = 0n
  for (let row = 0; row < rows; row++) {
    const cells = Array.from({ length: columns }, (_, column) => meanOf(luminance, width, height, column, row))
    for (let column = 0; column < columns - 1; column++)
      hash = (hash << 1n) | (cells[column]! < cells[column + 1]! ? 1n : 0n)
  }
  return hash.toString(16).padStart(16, '0')
}

/** The mean luminance of a cell; a cell has at least one pixel. */
function meanOf(luminance: Uint8Array, width: number, height: number, column: number, row: number): number {
  const [left, right] = rangeOf(column, columns, width)
  const [top, bottom] = rangeOf(row, rows, height)
  let sum = 0
  for (let y = top; y < bottom; y++) for (let x = left; x < right; x++) sum += luminance[y * width + x]!
  // In whole numbers, so that a flat image has no differences at all.
  return Math.round(sum / ((right - left) * (bottom - top)))
}

function rangeOf(cell: number, cells: number, size: number): [number, number] {
  const from = Math.min(Math.floor((cell * size) / cells), size - 1)
  return [from, Math.max(Math.floor(((cell + 1) * size) / cells), from + 1)]
}

const mostColours = 5
const leastShare = 0.01

/** Up to five colours, the most frequent first: the mean of the pixels in each of 512 cells of the RGB cube. */
export function dominantColoursOf({ data }: Pixels): Colour[] {
  // For each cell: the number of pixels and the sums of red, green and blue. At most a million pixels fit into 32 bits.
  const cells = new Uint32Array(512 * 4)
  for (let at = 0; at < data.length; at += 3) {
    const red = data[at]!
    const green = data[at + 1]!
    const blue = data[at + 2]!
    const cell = (((red >> 5) << 6) | ((green >> 5) << 3) | (blue >> 5)) * 4
    cells[cell]!++
    cells[cell + 1]! += red
    cells[cell + 2]! += green
    cells[cell + 3]! += blue
  }
  const pixels = data.length / 3
  const shareOf = (cell: number) => Math.round((cells[cell * 4]! / pixels) * 10_000) / 10_000
  const colourOf = (cell: number) =>
    [1, 2, 3].map(at => hexOf(Math.round(cells[cell * 4 + at]! / cells[cell * 4]!))).join('')
  return Array.from({ length: 512 }, (_, cell) => cell)
    .filter(cell => cells[cell * 4]! > 0)
    .sort((a, b) => cells[b * 4]! - cells[a * 4]! || a - b)
    .slice(0, mostColours)
    .map(cell => ({ hex: `#${colourOf(cell)}`, share: shareOf(cell) }))
    .filter(({ share }, index) => index === 0 || share >= leastShare)
}

const hexOf = (value: number) => value.toString(16).padStart(2, '0')
