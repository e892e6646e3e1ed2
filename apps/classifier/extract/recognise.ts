/**
 * Recognises the text of a picture with Tesseract (WebAssembly, offline: the data of the languages are npm packages). The module of the
 * core runs in this thread and not in a worker thread of tesseract.js: the engine measures and kills processes, and there is nothing to
 * install or to download.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gunzipSync } from 'node:zlib'
import type { GreyPicture } from '@retoma/pdf-page/pages'
import sharp from 'sharp'

const require = createRequire(import.meta.url)

const languages = {
  por: require.resolve('@tesseract.js-data/por/4.0.0_best_int/por.traineddata.gz'),
  eng: require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz'),
}

/** The used part of the interface of tesseract.js-core, which has no types. */
interface Core {
  FS: { writeFile(path: string, bytes: Uint8Array): void }
  TessBaseAPI: new () => Api
}
interface Api {
  /** 0: done. `engine` 1: LSTM. */
  Init(folder: null, languages: string, engine: number): number
  SetVariable(name: string, value: string): void
  /** Reads /input; `orientation` is that of EXIF, and `radians` turns the picture further. 0: done. */
  SetImageFile(orientation: number, radians: number): number
  FindLines(): void
  GetGradient(): number
  Recognize(monitor: null): number
  GetUTF8Text(): string
  MeanTextConf(): number
  Clear(): void
}

interface Recognised {
  text: string
  /** 0 to 1. */
  confidence: number
}

export type Recognise = (picture: GreyPicture) => Promise<Recognised>

/** Begins a document: its pages often lie alike. */
export type Recogniser = () => Recognise

/** Loads the core and the languages: about 0.5 s. */
export async function loadRecogniser(): Promise<Recogniser> {
  const silent = () => {}
  const load = require('tesseract.js-core/tesseract-core-simd-lstm') as (options: object) => Promise<Core>
  const core = await load({ TesseractProgress: silent, print: silent, printErr: silent })
  for (const [language, packed] of Object.entries(languages))
    core.FS.writeFile(`./${language}.traineddata`, gunzipSync(readFileSync(packed)))
  const api = new core.TessBaseAPI()
  if (api.Init(null, Object.keys(languages).join('+'), 1) !== 0)
    throw new Error('the data of the languages cannot be loaded')
  // A page with columns and blocks, without the detection of other scripts.
  api.SetVariable('tessedit_pageseg_mode', '3')
  return () => {
    const read = createReading(core, api)
    return async picture => read(await withoutSpecks(picture))
  }
}

/** Below this angle, in radians, turning the picture costs more than it helps. */
const leastTurn = 0.005
/** Of a page that lies on its head about half is believed, and of a good page nine tenths. */
const unsure = 0.7

/** Orientations of EXIF. */
type Side = typeof upright | typeof onItsHead
const upright = 1
const onItsHead = 3

/**
 * Tesseract reads a page that lies on one side, and not a page that lies on its head or on the other side: an unsure page is read once more
 * after half a turn, and the surer text counts. The next page of the document begins with the side of the last.
 */
function createReading(core: Core, api: Api): (picture: GreyPicture) => Recognised {
  let side: Side = upright
  return ({ width, height, grey }) => {
    core.FS.writeFile('/input', Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey]))
    const first = recognised(api, side)
    if (first.confidence >= unsure || first.text === '') return first
    const other = side === upright ? onItsHead : upright
    const second = recognised(api, other)
    if (second.confidence <= first.confidence) return first
    side = other
    return second
  }
}

function recognised(api: Api, side: Side): Recognised {
  if (api.SetImageFile(side, 0) !== 0) throw new Error('the picture cannot be loaded')
  api.FindLines()
  const turn = api.GetGradient()
  if (Math.abs(turn) > leastTurn) api.SetImageFile(side, turn)
  api.Recognize(null)
  const text = api.GetUTF8Text()
  const confidence = Math.min(Math.max(api.MeanTextConf() / 100, 0), 1)
  api.Clear()
  return { text: text.trim(), confidence }
}

/** Removes the dots of a scanner and of dust, with which Tesseract reads four of five words and without which 99 of 100. */
async function withoutSpecks({ width, height, grey }: GreyPicture): Promise<GreyPicture> {
  const { data } = await sharp(grey, { raw: { width, height, channels: 1 } })
    .median(3)
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { width, height, grey: data }
}
