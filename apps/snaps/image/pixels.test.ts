/** The measures of an image on pixels whose answers are known. */
import { expect, test } from 'vitest'
import { blurScoreOf, dominantColoursOf, histogramOf, luminanceOf, type Pixels, perceptualHashOf } from './pixels.ts'

/** Pixels by a function of the place: red, green, blue. */
function pixelsBy(width: number, height: number, at: (x: number, y: number) => [number, number, number]): Pixels {
  const places = Array.from({ length: width * height }, (_, n) => at(n % width, Math.floor(n / width)))
  return { data: Uint8Array.from(places.flat()), width, height }
}
const greys = (width: number, height: number, at: (x: number, y: number) => number) =>
  pixelsBy(width, height, (x, y) => [at(x, y), at(x, y), at(x, y)])

test('the luminance of a grey is the grey, and green counts more than red, red more than blue', () => {
  const all = pixelsBy(256, 1, x => [x, x, x])
  expect([...luminanceOf(all)]).toEqual(Array.from({ length: 256 }, (_, n) => n))
  const pure = pixelsBy(3, 1, x => [x === 0 ? 255 : 0, x === 1 ? 255 : 0, x === 2 ? 255 : 0])
  expect([...luminanceOf(pure)]).toEqual([54, 182, 18])
})

test('the histogram counts each pixel once', () => {
  const histogram = histogramOf(luminanceOf(greys(10, 10, x => (x < 3 ? 0 : 255))))
  expect([histogram[0], histogram[255], histogram.reduce((a, b) => a + b)]).toEqual([30, 70, 100])
})

test('the blur score is the variance of the Laplacian: nothing for a flat image, more for sharper edges', () => {
  const score = ({ data, width, height }: Pixels) => blurScoreOf(luminanceOf({ data, width, height }), width, height)
  expect(score(greys(16, 16, () => 90))).toBe(0)
  // A slope has no second derivative.
  expect(score(greys(16, 16, x => x * 10))).toBe(0)
  const edge = (softness: number) =>
    score(greys(32, 32, x => Math.round(255 / (1 + Math.exp(-(x - 15.5) / softness)))))!
  expect(edge(0.1)).toBeGreaterThan(edge(1))
  expect(edge(1)).toBeGreaterThan(edge(4))
  // One bright pixel of 1 in a 3 x 3 image: the Laplacian has one value, so no variance.
  expect(score(greys(3, 3, (x, y) => (x === 1 && y === 1 ? 1 : 0)))).toBe(0)
  // In a 5 x 5 image the nine values are -4, four times 1 and four times 0: mean 0, variance 20 / 9.
  expect(score(greys(5, 5, (x, y) => (x === 2 && y === 2 ? 1 : 0)))).toBe(2.22)
  expect(score(greys(2, 5, () => 1))).toBeNull()
})

test('the perceptual hash has a bit for each cell that is darker than its right neighbour, for images of any size', () => {
  const hash = ({ data, width, height }: Pixels) =>
    perceptualHashOf(luminanceOf({ data, width, height }), width, height)
  expect(hash(greys(90, 80, x => x * 2))).toBe('ffffffffffffffff')
  expect(hash(greys(90, 80, x => 255 - x * 2))).toBe('0000000000000000')
  expect(hash(greys(90, 80, () => 7))).toBe('0000000000000000')
  // The upper half becomes brighter to the right, the lower half darker.
  expect(hash(greys(90, 80, (x, y) => (y < 40 ? x * 2 : 255 - x * 2)))).toBe('ffffffff00000000')
  for (const [width, height] of [
    [1, 1],
    [2, 1],
    [1, 30],
    [9, 8],
    [1000, 3],
  ] as const)
    expect(hash(greys(width, height, x => x % 256))).toMatch(/^[0-9a-f]{16}$/)
})

test('dominant colours are the most frequent ones with their share', () => {
  const flag = pixelsBy(100, 10, x => (x < 60 ? [0, 128, 0] : x < 95 ? [255, 255, 0] : [0, 0, 200]))
  expect(dominantColoursOf(flag)).toEqual([
    { hex: '#008000', share: 0.6 },
    { hex: '#ffff00', share: 0.35 },
    { hex: '#0000c8', share: 0.05 },
  ])
})
