/** Hostile files of each format besides PDF, each with the possible results: `skip`, `text`, or the code of an error. */

import { deflateSync } from 'node:zlib'
import { crc32, deflatedBomb, type ZipEntry, zipOf } from '../../../planner/test/zips.ts'
import { docxOf, msgOf, odtOf, wordPart } from '../office-files.ts'
import { tiffOf } from '../tiffs.ts'

export interface HostileFile {
  name: string
  bytes: Buffer
  ends: readonly string[]
}

const megabyte = 1024 * 1024
const slow = ['file_timeout', 'file_memory']
const xml = (text: string) => `<?xml version="1.0"?>${text}`
/** Characters of a deep nesting. */
const deep = (open: string, close: string, levels: number) => `${open.repeat(levels)}x${close.repeat(levels)}`
const part = (name: string, bytes: string, more: Partial<ZipEntry> = {}): ZipEntry => ({ name, bytes, ...more })
const types = part('[Content_Types].xml', '<Types/>')
const laughs = xml(
  `<!DOCTYPE l [<!ENTITY a "${'ha'.repeat(1000)}">${Array.from({ length: 20 }, (_, n) => `<!ENTITY e${n} "${`&${n === 0 ? 'a' : `e${n - 1}`};`.repeat(20)}">`).join('')}]><l>&e19;</l>`,
)
const outside = xml('<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a;</l>')

const office: HostileFile[] = [
  { name: 'lixo.docx', bytes: Buffer.from('PK\x03\x04 lixo', 'latin1'), ends: ['skip'] },
  { name: 'meio.docx', bytes: docxOf(['x'.repeat(5000)]).subarray(0, 300), ends: ['skip'] },
  { name: 'sem corpo.docx', bytes: zipOf([types]), ends: ['skip'] },
  {
    name: 'senha.docx',
    bytes: zipOf([types, part('word/document.xml', 'x', { flags: 0x0801 })]),
    ends: ['file_encrypted'],
  },
  {
    name: 'bomba declarada.docx',
    bytes: zipOf([types, part('word/document.xml', '', { packed: deflatedBomb(2048) })]),
    ends: ['file_bomb'],
  },
  {
    name: 'bomba calada.docx',
    bytes: zipOf([types, part('word/document.xml', '', { packed: deflatedBomb(600), declared: 100 })]),
    ends: ['skip', 'file_bomb'],
  },
  {
    name: 'bomba de tags.docx',
    bytes: zipOf([types, part('word/document.xml', '', { packed: deflatedBomb(500, '<') })]),
    ends: ['skip', 'text', ...slow],
  },
  {
    name: 'fundo.docx',
    bytes: docxOf([], [wordPart('document', deep('<w:p>', '</w:p>', 300_000))]),
    ends: ['skip', 'text', ...slow],
  },
  { name: 'entidades.docx', bytes: docxOf([], [{ name: 'word/document.xml', bytes: laughs }]), ends: ['skip', 'text'] },
  {
    name: 'muitas partes.docx',
    bytes: docxOf(
      ['x'],
      Array.from({ length: 11_000 }, (_, n) => part(`word/x${n}.xml`, '')),
    ),
    ends: ['file_beyond_limits'],
  },
  {
    name: 'espaços.odt',
    bytes: odtOf(`<text:p>${'<text:s text:c="999999999"/>'.repeat(1000)}</text:p>`),
    ends: ['skip'],
  },
  { name: 'apagado.odt', bytes: odtOf('</text:p>'.repeat(1000)), ends: ['skip'] },
  {
    name: 'texto sem fim.xlsx',
    bytes: zipOf([
      types,
      part('xl/workbook.xml', '<sheets><sheet name="a" r:id="1"/></sheets>'),
      part('xl/sharedStrings.xml', '', { packed: deflatedBomb(400, 'x') }),
      part('xl/worksheets/sheet1.xml', '<row><c><v>1</v></c></row>'),
    ]),
    ends: ['text', 'skip', 'file_beyond_limits', ...slow],
  },
  { name: 'sem folha.xlsx', bytes: zipOf([types, part('xl/workbook.xml', '<sheets/>')]), ends: ['skip'] },
  {
    name: 'linhas demais.xlsx',
    bytes: zipOf([
      types,
      part('xl/workbook.xml', '<sheets><sheet name="a"/></sheets>'),
      part('xl/worksheets/sheet1.xml', '<row r="99999999"><c><v>1</v></c></row>'),
    ]),
    ends: ['file_beyond_limits'],
  },
]

const slide = (bytes: string, more: Partial<ZipEntry> = {}) => part('ppt/slides/slide1.xml', bytes, more)
const presentation = part('ppt/presentation.xml', '<p:presentation/>')
/** A file of LibreOffice with the type and the content. */
const openDocument = (type: string, content: string, more: Partial<ZipEntry> = {}) =>
  zipOf([part('mimetype', `application/vnd.oasis.opendocument.${type}`), part('content.xml', content, more)])

/** Slides, and the files of LibreOffice. */
const slidesAndSheets: HostileFile[] = [
  { name: 'sem slides.pptx', bytes: zipOf([types, presentation]), ends: ['skip'] },
  {
    name: 'bomba.pptx',
    bytes: zipOf([types, presentation, slide('', { packed: deflatedBomb(2048) })]),
    ends: ['file_bomb'],
  },
  {
    name: 'fundo.pptx',
    bytes: zipOf([types, presentation, slide(deep('<a:p>', '</a:p>', 300_000))]),
    ends: ['skip', 'text', ...slow],
  },
  { name: 'risadas.pptx', bytes: zipOf([types, presentation, slide(laughs)]), ends: ['skip', 'text'] },
  ...['spreadsheet', 'presentation', 'text'].flatMap((type): HostileFile[] => [
    { name: `bomba.${type}.odf`, bytes: openDocument(type, '', { packed: deflatedBomb(2048) }), ends: ['file_bomb'] },
    { name: `risadas.${type}.odf`, bytes: openDocument(type, laughs), ends: ['skip', 'text'] },
    {
      name: `fundo.${type}.odf`,
      bytes: openDocument(type, deep('<text:p>', '</text:p>', 300_000)),
      ends: ['skip', 'text', ...slow],
    },
    { name: `cortado.${type}.odf`, bytes: openDocument(type, '<text:p>x').subarray(0, 80), ends: ['skip'] },
  ]),
  {
    name: 'linhas repetidas.ods',
    bytes: openDocument(
      'spreadsheet',
      '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell></table:table-row>',
    ),
    ends: ['text', 'skip', 'file_beyond_limits', ...slow],
  },
  { name: 'binário.csv', bytes: Buffer.from('a;b\0\x01\x02\x03'.repeat(500), 'latin1'), ends: ['text_binary'] },
  { name: 'uma linha.csv', bytes: Buffer.alloc(20 * megabyte, 'x;'), ends: ['text'] },
  { name: 'aspas.csv', bytes: Buffer.alloc(5 * megabyte, '"'), ends: ['text'] },
  { name: 'só quebras.csv', bytes: Buffer.alloc(5 * megabyte, '\n'), ends: ['skip'] },
]

const markup: HostileFile[] = [
  { name: 'fundo.html', bytes: Buffer.from(`<html>${deep('<div>', '</div>', 1_000_000)}`), ends: ['text', ...slow] },
  { name: 'sem fim.html', bytes: Buffer.from(`<html><script>${'x'.repeat(10 * megabyte)}`), ends: ['skip'] },
  { name: 'atributos.html', bytes: Buffer.from(`<html><p ${'a=1 '.repeat(2_000_000)}>x`), ends: ['text', ...slow] },
  { name: 'binário.html', bytes: Buffer.from('<html>\0\x01\x02', 'latin1'), ends: ['text_binary'] },
  { name: 'risadas.xml', bytes: Buffer.from(laughs), ends: ['text', 'skip'] },
  { name: 'arquivo de fora.xml', bytes: Buffer.from(outside), ends: ['text', 'skip'] },
  { name: 'fundo.xml', bytes: Buffer.from(xml(deep('<a>', '</a>', 1_000_000))), ends: ['text', ...slow] },
  { name: 'cortado.xml', bytes: Buffer.from(xml('<nfeProc><NFe><infNFe Id="')), ends: ['text', 'skip'] },
]

const rtf: HostileFile[] = [
  { name: 'fundo.rtf', bytes: Buffer.from(`{\\rtf1 ${deep('{', '}', 1_000_000)}}`), ends: ['skip'] },
  { name: 'chaves.rtf', bytes: Buffer.from(`{\\rtf1 ${'}'.repeat(100_000)}x`), ends: ['text'] },
  { name: 'bin.rtf', bytes: Buffer.from('{\\rtf1 a\\bin2000000000 bc}'), ends: ['text'] },
  { name: 'cortado.rtf', bytes: Buffer.from("{\\rtf1 a\\'e"), ends: ['text'] },
  { name: 'só figura.rtf', bytes: Buffer.from(`{\\rtf1{\\pict ${'ff'.repeat(megabyte)}}}`), ends: ['skip'] },
]

const nested = (levels: number) =>
  Array.from({ length: levels }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`).join('')

const mail: HostileFile[] = [
  { name: 'fundo.eml', bytes: Buffer.from(`Subject: x\r\n${nested(5000)}\r\n\r\nx`), ends: ['skip', 'text', ...slow] },
  { name: 'cabeçalhos.eml', bytes: Buffer.from(`${'X-A: b\r\n'.repeat(500_000)}\r\nx`), ends: ['skip', ...slow] },
  { name: 'charset.eml', bytes: Buffer.from('Content-Type: text/plain; charset=x-nada\r\n\r\nolá'), ends: ['text'] },
  {
    name: 'base64.eml',
    bytes: Buffer.from(
      `Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n${'AAAA'.repeat(3 * megabyte)}`,
    ),
    ends: ['text', 'skip', ...slow],
  },
  {
    name: 'lixo.msg',
    bytes: Buffer.concat([
      Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'),
      Buffer.from('__properties_version1.0', 'utf16le'),
    ]),
    ends: ['skip'],
  },
  ...[512, 600, 1100, 2000].map(size => ({
    name: `cortada ${size}.msg`,
    bytes: msgOf({ '0037': 'x', '1000': 'y' }).subarray(0, size),
    ends: ['skip', 'text', ...slow],
  })),
  { name: 'círculo.msg', bytes: looped(), ends: ['skip', 'text', ...slow] },
]

/** The chain of sectors of a message leads back to its start. */
function looped(): Buffer {
  const msg = msgOf({ '0037': 'x', '1000': 'y'.repeat(6000) })
  for (let at = 512; at + 4 <= 1024; at += 4) if (msg.readInt32LE(at) > 0) msg.writeInt32LE(0, at)
  return msg
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** The header of a PNG with the size. */
function pngOf(width: number, height: number, rest: Buffer): Buffer {
  const header = Buffer.alloc(25)
  header.writeUInt32BE(13, 0)
  header.write('IHDR', 4, 'latin1')
  header.writeUInt32BE(width, 8)
  header.writeUInt32BE(height, 12)
  header.set([8, 2, 0, 0, 0], 16)
  return Buffer.concat([signature, header, rest])
}

/** A whole PNG of one colour: some kilobytes for any size. */
function plainPng(side: number): Buffer {
  const chunk = (type: string, bytes: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(bytes.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([1, 0, 0, 0, 0], 8)
  const rows = deflateSync(Buffer.alloc(side * (1 + Math.ceil(side / 8))))
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

const images: HostileFile[] = [
  { name: 'bomba.png', bytes: plainPng(20_000), ends: ['image_too_large'] },
  { name: 'grande e vazia.png', bytes: plainPng(9000), ends: ['skip', ...slow] },
  {
    name: 'mil páginas.tif',
    bytes: tiffOf(Array.from({ length: 1000 }, () => ({ width: 200, height: 200 }))),
    ends: ['skip', ...slow],
  },
  {
    name: 'páginas danificadas.tif',
    bytes: tiffOf(Array.from({ length: 50 }, () => ({ width: 200, height: 200, isDamaged: true }))),
    ends: ['skip'],
  },
  { name: 'só assinatura.png', bytes: signature, ends: ['skip'] },
  { name: 'gigante.png', bytes: pngOf(60_000, 60_000, Buffer.alloc(100)), ends: ['image_too_large', 'skip'] },
  { name: 'cortada.jpg', bytes: Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF\0\x01', 'latin1'), ends: ['skip'] },
  { name: 'círculo.tif', bytes: Buffer.from('II*\0\x08\0\0\0\0\0\x08\0\0\0', 'latin1'), ends: ['skip'] },
  { name: 'nada.webp', bytes: Buffer.from('RIFF\xff\xff\xff\xffWEBPVP8 ', 'latin1'), ends: ['skip'] },
  { name: 'nada.gif', bytes: Buffer.from('GIF89a\xff\xff\xff\xff\0\0\0', 'latin1'), ends: ['skip'] },
]

const others: HostileFile[] = [
  { name: 'pacote.rar', bytes: Buffer.from('Rar!\x1a\x07\0', 'latin1'), ends: ['skip'] },
  { name: 'pacote.7z', bytes: Buffer.from('7z\xbc\xaf\x27\x1c', 'latin1'), ends: ['skip'] },
  { name: 'dentro.zip', bytes: zipOf([part('a.zip', 'x')]), ends: ['skip'] },
  {
    name: 'antigo.doc',
    bytes: Buffer.concat([Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'), Buffer.alloc(2000)]),
    ends: ['skip'],
  },
  { name: 'programa.exe', bytes: Buffer.from('MZ\0\0', 'latin1'), ends: ['skip'] },
  {
    name: 'figura.svg',
    bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1:1/"/></svg>'),
    ends: ['skip'],
  },
]

export const hostileFiles = (): HostileFile[] => [
  ...office,
  ...slidesAndSheets,
  ...markup,
  ...rtf,
  ...mail,
  ...images,
  ...others,
]
