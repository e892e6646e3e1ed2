/**
 * Makes scanned pages for tests and for `npm run prove -- --only ocr`: text drawn with 300 dots per inch, turned by 2 degrees, with specks and
 * a stamp. The same number gives the same page.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createCanvas, GlobalFonts, type SKRSContext2D } from '@napi-rs/canvas'
import { streamOf, writePdf } from '../../classifier/test/pdfs.ts'

const require = createRequire(import.meta.url)
const fonts = join(dirname(require.resolve('pdfjs-dist/package.json')), 'standard_fonts')
const font = 'Scan'

const words =
  'contrato de locação de imóvel residencial que entre si celebram as partes abaixo qualificadas locador e locatário ficam obrigados ao pagamento mensal do aluguel no valor de reais até o dia cinco de cada mês sob pena de multa e juros conforme cláusula quarta deste instrumento particular a petição inicial foi distribuída à vara cível da comarca com pedido de tutela de urgência e indenização por danos morais e materiais o réu deverá apresentar contestação no prazo legal nota fiscal eletrônica emitida em favor do destinatário com endereço completo número do documento'.split(
    ' ',
  )

/** Numbers from 0 to 1, equal each time. */
function randomOf(seed: number): () => number {
  let state = (seed * 7919 + 13) % 2_147_483_648
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** Lines of nine words. */
export function linesOf(page: number, lines: number): string[] {
  const random = randomOf(page)
  const word = () => words[Math.floor(random() * words.length)]!
  return Array.from({ length: lines }, () => Array.from({ length: 9 }, word).join(' '))
}

export interface Scan {
  width: number
  height: number
  jpeg: Buffer
  readonly png: Buffer
}

const [width, pageHeight] = [2480, 3508]
const [left, top, lineHeight] = [230, 300, 72]

/** A page of A4, or as high as the lines need. `degrees`: 182 is a page that lies on its head. */
export function scanOf(lines: readonly string[], { page = 1, isWhole = true, degrees = 2 } = {}): Scan {
  if (!GlobalFonts.has(font)) GlobalFonts.registerFromPath(join(fonts, 'LiberationSans-Regular.ttf'), font)
  const random = randomOf(page)
  const height = isWhole ? pageHeight : 2 * top + lines.length * lineHeight
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  context.fillStyle = '#fdfcf8'
  context.fillRect(0, 0, width, height)
  context.translate(width / 2, height / 2)
  context.rotate((degrees * Math.PI) / 180)
  context.translate(-width / 2, -height / 2)
  context.fillStyle = '#222222'
  context.font = `46px ${font}`
  for (const [index, line] of lines.entries()) context.fillText(line, left, top + index * lineHeight)
  if (isWhole) stamp(context, height - 258)
  context.setTransform(1, 0, 0, 1, 0, 0)
  const specks = (width * height) / 220
  for (let speck = 0; speck < specks; speck++) {
    context.fillStyle = random() < 0.5 ? '#000000' : '#c8c8c8'
    context.fillRect(Math.floor(random() * width), Math.floor(random() * height), 2, 2)
  }
  return {
    width,
    height,
    jpeg: canvas.toBuffer('image/jpeg', 85),
    // Only made where wanted: a PNG with specks takes as long as all the rest.
    get png() {
      return canvas.toBuffer('image/png')
    },
  }
}

function stamp(context: SKRSContext2D, y: number): void {
  context.strokeStyle = '#2040b0'
  context.fillStyle = '#2040b0'
  context.lineWidth = 8
  context.beginPath()
  context.arc(1950, y, 170, 0, 7)
  context.stroke()
  context.font = `40px ${font}`
  context.fillText('PROTOCOLO', 1830, y)
}

const pointsPerPixel = 72 / 300

/** A PDF with a scan on each page. `stampText`: a text of real letters, as courts print on scanned pages. */
export function scannedPdf(scans: readonly Scan[], stampText = ''): Buffer {
  const kids = scans.map((_, index) => `${4 + 3 * index} 0 R`).join(' ')
  const written = stampText === '' ? '' : `BT /F1 7 Tf 20 20 Td (${stampText}) Tj ET`
  return writePdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${scans.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    ...scans.flatMap((scan, index) => {
      const [w, h] = [scan.width * pointsPerPixel, scan.height * pointsPerPixel]
      const about = `/Type /XObject /Subtype /Image /Width ${scan.width} /Height ${scan.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode`
      const resources = `<< /Font << /F1 3 0 R >> /XObject << /I ${6 + 3 * index} 0 R >> >>`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Resources ${resources} /Contents ${5 + 3 * index} 0 R >>`,
        streamOf(`q ${w} 0 0 ${h} 0 0 cm /I Do Q ${written}`),
        streamOf(scan.jpeg, { dictionary: about }),
      ]
    }),
  ])
}

/** The part of the words of `lines` that `text` has, in any order; a word that is twice in the lines is wanted twice. */
export function wordsRight(lines: readonly string[], text: string): { right: number; all: number } {
  const found = new Map<string, number>()
  for (const word of text.split(/\s+/)) found.set(word, (found.get(word) ?? 0) + 1)
  const wanted = lines.join(' ').split(' ')
  const right = wanted.filter(word => {
    const left = found.get(word) ?? 0
    found.set(word, left - 1)
    return left > 0
  })
  return { right: right.length, all: wanted.length }
}
