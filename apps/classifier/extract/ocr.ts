/**
 * Reads scanned pages of a PDF, and images, by OCR. Runs in a background process (ocr-isolated.ts).
 *
 * Invariant: at most `most` pages are recognised, each within `longest` pixels, and no page begins after `mostOcrSeconds` of processor time:
 * a document has a bounded cost. A problem of the document is a result; a problem of one page leaves the other pages.
 */
import { readFile } from 'node:fs/promises'
import { type GreyPicture, withPdf } from '@retoma/pdf-page/pages'
import sharp from 'sharp'
import { mostOcrSeconds } from '../ocr-limits.ts'
import { chosenPages } from '../page-selection.ts'
import { headLength } from './excerpt.ts'
import { tidy } from './plain.ts'
import { loadRecogniser, type Recognise, type Recogniser } from './recognise.ts'

export interface OcrInput {
  path: string
  /** Scanned pages of a PDF; null: the file is an image. */
  scans: readonly number[] | null
  /** Pages that are recognised at most. */
  most: number
  /** The choice of pages of a TIFF (page-selection.ts). Default: all. */
  pages?: string | null
}

export type OcrRead =
  | {
      pages: OcrPage[]
      /** The number of pages of a TIFF with several pages, and the chosen ones. Default: not such a TIFF. */
      tiff?: { pages: number; chosen: number[] | null }
      /** Scanned pages that were not read: too many, or no time left. */
      left: number[]
      /** Processor time. */
      seconds: number
    }
  /** None of the chosen pages exists. */
  | { noPageOf: number }
  | { trouble: 'image_unreadable'; problem: string }
  | { trouble: 'image_too_large'; megapixels: number }

type OcrPages = Extract<OcrRead, { pages: unknown }>

interface OcrPage {
  page: number
  text: string
  /** 0 to 1. */
  confidence: number
}

/** The longest side of a page: A4 with 300 dots per inch has 3508. */
const longest = 3600
const dpi = 300

/** Pixels of an image before it is made smaller. */
const mostPixels = 100_000_000
/** A smaller image is doubled: letters need about 20 pixels. */
const smallImage = 1800

const spentSeconds = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1e6
}

/** Keeps the recogniser for further documents of the same process. */
export function createOcr(load: () => Promise<Recogniser> = loadRecogniser): (input: OcrInput) => Promise<OcrRead> {
  let loading: Promise<Recogniser> | undefined
  return async ({ path, scans, most, pages = null }) => {
    const began = process.cpuUsage()
    let recognise: Recognise | undefined
    const reading = new Reading(
      async picture => {
        loading ??= load()
        recognise ??= (await loading)()
        return recognise(picture)
      },
      most,
      began,
    )
    const ended = scans === null ? await readImage(path, pages, reading) : await readPages(path, scans, reading)
    if (reading.failure !== undefined) throw reading.failure
    return ended ?? reading.end()
  }
}

class Reading {
  readonly #recognise: Recognise
  readonly #most: number
  readonly #began: NodeJS.CpuUsage
  readonly #pages: OcrPage[] = []
  readonly #left: number[] = []
  #length = 0

  constructor(recognise: Recognise, most: number, began: NodeJS.CpuUsage) {
    this.#recognise = recognise
    this.#most = most
    this.#began = began
  }

  /** The error of the recogniser, which is no problem of the document. */
  failure: unknown

  /** Throws the error of `draw`. */
  async page(page: number, draw: () => Promise<GreyPicture>): Promise<void> {
    const isEnough =
      this.#pages.length >= this.#most || this.#length > headLength || spentSeconds(this.#began) > mostOcrSeconds
    if (isEnough) return void this.#left.push(page)
    const picture = await draw()
    try {
      const { text, confidence } = await this.#recognise(picture)
      this.#length += text.length
      this.#pages.push({ page, text: tidy(text), confidence })
    } catch (error) {
      this.failure = error ?? new Error('unknown')
      throw error
    }
  }

  /** The page cannot be drawn. */
  leave(page: number): void {
    this.#left.push(page)
  }

  get isEmpty(): boolean {
    return this.#pages.length === 0
  }

  end(tiff?: OcrPages['tiff']): OcrPages {
    const seconds = Math.round(spentSeconds(this.#began) * 10) / 10
    return { pages: this.#pages, left: this.#left, seconds, ...(tiff === undefined ? {} : { tiff }) }
  }
}

/** A page that cannot be drawn is left; a PDF with a text that cannot be drawn keeps its text. */
async function readPages(path: string, scans: readonly number[], reading: Reading): Promise<undefined> {
  await withPdf(new Uint8Array(await readFile(path)), async pdf => {
    for (const page of scans) {
      try {
        await reading.page(page, () => pdf.drawGrey(page, { dpi, longest }))
      } catch (error) {
        if (reading.failure !== undefined) throw error
        reading.leave(page)
      }
    }
  })
}

/** The chosen pages of a TIFF, the first picture of other formats. A page that cannot be decoded is left, and the others count. */
async function readImage(path: string, selection: string | null, reading: Reading): Promise<OcrRead> {
  const bytes = await readFile(path)
  let problem: unknown
  try {
    const { autoOrient, format, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata()
    const { width, height } = autoOrient
    if (width * height > mostPixels) return tooLarge(width * height)
    const isTiff = format === 'tiff' && pages > 1
    const numbers = isTiff ? chosenPages(selection, pages) : [1]
    if (numbers.length === 0) return { noPageOf: pages }
    for (const page of numbers) {
      try {
        await reading.page(page, () => greyImage(bytes, page - 1))
      } catch (error) {
        if (reading.failure !== undefined) throw error
        problem ??= error
        reading.leave(page)
      }
    }
    if (problem !== undefined && reading.isEmpty) return unreadable(problem)
    return reading.end(isTiff ? { pages, chosen: selection === null ? null : numbers } : undefined)
  } catch (error) {
    return unreadable(error)
  }
}

const tooLarge = (pixels: number) => ({ trouble: 'image_too_large' as const, megapixels: Math.round(pixels / 1e6) })

const unreadable = (error: unknown) => ({
  trouble: 'image_unreadable' as const,
  problem: String((error as Error).message)
    .split('\n')[0]!
    .slice(0, 200),
})

/** Each page of a TIFF has a size of its own. */
async function greyImage(bytes: Buffer, page: number): Promise<GreyPicture> {
  const image = sharp(bytes, { limitInputPixels: mostPixels, page, failOn: 'error' })
  const { width: across, height: down } = (await image.metadata()).autoOrient
  const scale = Math.min(Math.max(across, down) < smallImage ? 2 : 1, longest / Math.max(across, down))
  const width = Math.max(Math.round(across * scale), 1)
  const { data, info } = await image
    .autoOrient()
    .flatten({ background: 'white' })
    .resize({ width })
    .greyscale()
    .toColourspace('b-w')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  if (info.channels !== 1) throw new Error(`the decoder gave ${info.channels} channels`)
  return { width: info.width, height: info.height, grey: data }
}
