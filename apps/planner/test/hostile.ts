/**
 * Hostile images, PDFs and tables, made by code, so that the name of each says the problem: decompression bombs, truncated files, wrong types, polyglots.
 * `good`: files that must be done although the hostile ones are among them.
 */
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { bookEntries, deflatedBomb, workbookOf, workbookXml, type ZipEntry, zipOf } from './zips.ts'

export interface HostileFile {
  name: string
  bytes: Buffer
  route: 'extract-demand' | 'generate-thumbnail'
}

const latin = (text: string) => Buffer.from(text, 'latin1')

/** Random bytes, equal each time. */
export function noise(length: number, seed = 7): Buffer {
  let state = seed
  return Buffer.from(
    Uint8Array.from({ length }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state >> 16
    }),
  )
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value >>> 0
})

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([latin(type), data])
  let crc = 0xffffffff
  for (const byte of body) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8)
  return Buffer.concat([uint32(data.length), body, uint32((crc ^ 0xffffffff) >>> 0)])
}

/** A PNG of this size whose content is `rows` rows of zeros. */
function png(width: number, height: number, rows: number, more: Buffer[] = []): Buffer {
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([1, 0, 0, 0, 0])])
  const content = deflateSync(Buffer.alloc(rows * (Math.ceil(width / 8) + 1)))
  return Buffer.concat([
    latin('\x89PNG\r\n\x1a\n'),
    pngChunk('IHDR', header),
    ...more,
    pngChunk('IDAT', content),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

const parts = [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98]
const truncated = (name: string, bytes: Buffer, route: HostileFile['route']): HostileFile[] =>
  parts.map(part => ({
    name: `truncado ${part} ${name}`,
    bytes: bytes.subarray(0, Math.floor(bytes.length * part)),
    route,
  }))

async function pictures(): Promise<{
  jpeg: Buffer
  png: Buffer
  webp: Buffer
  gif: Buffer
  tiff: Buffer
  avif: Buffer
}> {
  const image = sharp(noise(120 * 90 * 3), { raw: { width: 120, height: 90, channels: 3 } })
  return {
    jpeg: await image.clone().jpeg().toBuffer(),
    png: await image.clone().png().toBuffer(),
    webp: await image.clone().webp().toBuffer(),
    gif: await image.clone().gif().toBuffer(),
    tiff: await image.clone().tiff().toBuffer(),
    avif: await image.clone().avif({ effort: 0 }).toBuffer(),
  }
}

/** Parts of a polyglot that are no pixels; no thumbnail may contain one of them. */
export const payloads = {
  zip: zipOf([{ name: 'Main.class', bytes: 'cafebabe' }]),
  html: latin('<!DOCTYPE html><script>alert(1)</script>'),
  php: latin('<?php system($_GET["x"]); ?>'),
  pdf: latin('%PDF-1.4\n1 0 obj\n<< /OpenAction << /S /JavaScript /JS (x) >> >>\nendobj\n'),
} as const

/** Each is an image or a PDF that every viewer shows, and something else besides. */
function polyglots({ jpeg, png: image, gif, webp }: Awaited<ReturnType<typeof pictures>>): [string, Buffer][] {
  const { zip, html, php, pdf } = payloads
  const comment = (text: Buffer) => {
    const head = Buffer.from([0xff, 0xfe, 0, 0])
    head.writeUInt16BE(text.length + 2, 2)
    return Buffer.concat([jpeg.subarray(0, 2), head, text, jpeg.subarray(2)])
  }
  return [
    ['jpeg e zip.jpg', Buffer.concat([jpeg, zip])],
    ['png e página da web.png', Buffer.concat([image, html])],
    ['gif e php.gif', Buffer.concat([gif, php])],
    ['webp e zip.webp', Buffer.concat([webp, zip])],
    ['jpeg com php no comentário.jpg', comment(php)],
    ['jpeg com pdf no comentário.jpg', comment(pdf)],
    ['png com página da web no texto.png', png(8, 8, 8, [pngChunk('tEXt', Buffer.concat([latin('a\0'), html]))])],
    ['pdf e zip.pdf', Buffer.concat([goodPdf('Escala'), zip])],
  ]
}

export async function hostileImages(): Promise<HostileFile[]> {
  const route = 'generate-thumbnail' as const
  const good = await pictures()
  const svg = (body: string) => latin(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${body}</svg>`)
  const laughs = `<!DOCTYPE svg [<!ENTITY a "ha">${'bcdefghi'.split('').map((name, index) => `<!ENTITY ${name} "${`&${'abcdefgh'[index]};`.repeat(10)}">`).join('')}]>` // biome-ignore format: one line
  const files: [string, Buffer][] = [
    ['30000 x 30000.png', png(30_000, 30_000, 30_000)],
    ['30000 x 30000 sem conteúdo.png', png(30_000, 30_000, 1)],
    ['2 bilhões de pixels.png', png(2_000_000_000, 1, 0)],
    ['1 x 2 bilhões.png', png(1, 2_000_000_000, 1)],
    ['zero pixels.png', png(0, 0, 0)],
    ['pouco conteúdo.png', png(800, 800, 3)],
    [
      'texto comprimido que incha.png',
      png(8, 8, 8, [pngChunk('zTXt', Buffer.concat([latin('a\0\0'), deflateSync(Buffer.alloc(60_000_000))]))]),
    ],
    [
      'perfil de cor que incha.png',
      png(8, 8, 8, [pngChunk('iCCP', Buffer.concat([latin('a\0\0'), deflateSync(Buffer.alloc(60_000_000))]))]),
    ],
    ['pedaço de 4 GB.png', Buffer.concat([latin('\x89PNG\r\n\x1a\n'), uint32(0xffffffff), latin('IHDR'), noise(40)])],
    ['crc errado.png', Buffer.concat([png(8, 8, 8).subarray(0, 30), noise(40)])],
    ['só o começo.png', latin('\x89PNG\r\n\x1a\n')],
    ['só o começo.jpg', latin('\xff\xd8\xff\xe0')],
    ['só o começo.gif', latin('GIF89a')],
    ['ruído.jpg', Buffer.concat([good.jpeg.subarray(0, 20), noise(5000)])],
    ['ruído.webp', Buffer.concat([good.webp.subarray(0, 16), noise(5000)])],
    ['ruído.avif', Buffer.concat([good.avif.subarray(0, 40), noise(5000)])],
    ['ruído.tiff', Buffer.concat([latin('II*\0\x08\0\0\0'), noise(3000)])],
    ['diretório em círculo.tiff', latin('II*\0\x08\0\0\0\0\0\x08\0\0\0')],
    ['65000 x 65000.gif', Buffer.concat([latin('GIF89a\xe8\xfd\xe8\xfd\x80\0\0'), noise(300)])],
    [
      '65000 x 65000.jpg',
      Buffer.concat([
        latin('\xff\xd8\xff\xc0\0\x11\x08\xfd\xe8\xfd\xe8\x03\x01\x22\0\x02\x11\x01\x03\x11\x01'),
        latin('\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0'),
        noise(200),
      ]),
    ],
    ['vetor.svg', svg('<rect width="9" height="9"/>')],
    ['vetor que busca.svg', svg('<image href="http://127.0.0.1:1/x.png" width="9" height="9"/>')],
    ['vetor que lê.svg', svg('<image href="file:///etc/passwd" width="9" height="9"/>')],
    ['um bilhão de risadas.svg', Buffer.concat([latin(laughs), svg('<text>&i;</text>')])],
    ['página da web.jpg', latin('<!DOCTYPE html><html><script>alert(1)</script></html>')],
    ['texto.png', latin('isto não é uma imagem')],
    ['vazio.png', Buffer.alloc(0)],
    ['um byte.png', Buffer.from([0x89])],
    ['ruído puro.png', noise(4000)],
    ['zip.png', workbookOf([['data', 'hora']])],
    ['programa.jpg', Buffer.concat([latin('\x7fELF'), noise(400)])],
    ['som.jpg', Buffer.concat([latin('RIFF\x24\0\0\0WAVEfmt '), noise(400)])],
    ['vídeo.jpg', Buffer.concat([latin('\0\0\0\x20ftypisom'), noise(400)])],
    ['bmp.png', Buffer.concat([latin('BM'), noise(400)])],
    ['ícone.png', Buffer.concat([latin('\0\0\x01\0\x01\0'), noise(400)])],
    ['postscript.png', latin('%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file\n')],
    ['msl.png', latin('<?xml version="1.0"?><image><read filename="/etc/passwd"/></image>')],
    ['mvg.png', latin('push graphic-context\nimage over 0,0 0,0 "https://127.0.0.1/x"\npop graphic-context')],
    ['pdf de mentira.pdf', latin('%PDF-1.7\nnada\n%%EOF')],
    ['pdf dentro de ruído.png', Buffer.concat([noise(300), latin('%PDF-1.4\n'), noise(600)])],
    ['pdf e gif.gif', Buffer.concat([latin('GIF89a\x01\0\x01\0'), latin('%PDF-1.4\n1 0 obj\n'), noise(200)])],
    ['pdf vazio.pdf', latin('%PDF-')],
    ...polyglots(good),
  ]
  return [
    ...files.map(([name, bytes]) => ({ name, bytes, route })),
    ...Object.entries(good).flatMap(([type, bytes]) => truncated(`imagem.${type}`, bytes, route).slice(0, 5)),
    ...truncated('página.pdf', goodPdf('Escala de março'), route).slice(0, 3),
  ]
}

export function hostileTables(): HostileFile[] {
  const route = 'extract-demand' as const
  const header = ['data', 'hora', 'visitas']
  const row = ['04/03/2030', '09:00', 3]
  const sheet = (bytes: string | Uint8Array, more: Partial<ZipEntry> = {}) => ({
    'xl/worksheets/sheet1.xml': { name: 'xl/worksheets/sheet1.xml', bytes, ...more },
  })
  const sheetStart = '<worksheet><sheetData>'
  const book = (more: Record<string, ZipEntry>) => workbookOf([header, row], more)
  const bomb = deflatedBomb(3000)
  const laughs = `<!DOCTYPE x [<!ENTITY a "ha">${'bcdefghi'.split('').map((name, index) => `<!ENTITY ${name} "${`&${'abcdefgh'[index]};`.repeat(10)}">`).join('')}]>` // biome-ignore format: one line
  const plain = workbookOf([header, row])
  const files: [string, Buffer][] = [
    ['bomba na aba.xlsx', book(sheet('', { packed: bomb }))],
    ['bomba que mente o tamanho.xlsx', book(sheet('', { packed: bomb, declared: 100 }))],
    [
      'bomba nos textos.xlsx',
      book({ 'xl/sharedStrings.xml': { name: 'xl/sharedStrings.xml', bytes: '', packed: deflatedBomb(1500) } }),
    ],
    [
      'textos demais.xlsx',
      book({
        'xl/sharedStrings.xml': {
          name: 'xl/sharedStrings.xml',
          bytes: `<sst>${`<si><t>${'x'.repeat(30_000)}</t></si>`.repeat(3000)}</sst>`,
        },
      }),
    ],
    ['declara 4 GB.xlsx', book(sheet(sheetStart, { declared: 0xfffffff0 }))],
    [
      'um bilhão de risadas.xlsx',
      book(sheet(`${laughs}${sheetStart}<row><c t="inlineStr"><is><t>&i;</t></is></c></row></sheetData></worksheet>`)),
    ],
    [
      'entidade de fora.xlsx',
      book(
        sheet(
          `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${sheetStart}<row><c t="inlineStr"><is><t>&e;</t></is></c></row></sheetData></worksheet>`,
        ),
      ),
    ],
    [
      'linha 9 bilhões.xlsx',
      book(sheet(`${sheetStart}<row r="9000000000"><c r="A9"><v>1</v></c></row></sheetData></worksheet>`)),
    ],
    ['coluna XFD.xlsx', book(sheet(`${sheetStart}<row r="1"><c r="XFD1"><v>1</v></c></row></sheetData></worksheet>`))],
    [
      'coluna sem fim.xlsx',
      book(sheet(`${sheetStart}<row r="1">${'<c><v>1</v></c>'.repeat(5000)}</row></sheetData></worksheet>`)),
    ],
    [
      'texto que não existe.xlsx',
      book(sheet(`${sheetStart}<row r="1"><c t="s"><v>99999999</v></c></row></sheetData></worksheet>`)),
    ],
    ['xml quebrado.xlsx', book(sheet('<worksheet><sheetData><row><c><v>1</row>'))],
    ['xml que é ruído.xlsx', book(sheet(noise(5000)))],
    ['aba vazia.xlsx', book(sheet(''))],
    ['fundo demais.xlsx', book(sheet('<a>'.repeat(200_000)))],
    [
      'atributos demais.xlsx',
      book(sheet(`<worksheet ${Array.from({ length: 20_000 }, (_, index) => `a${index}="1"`).join(' ')}>`)),
    ],
    ['crc errado.xlsx', book(sheet(sheetStart, { packed: { bytes: noise(50), size: 50, crc: 1 } }))],
    ['método desconhecido.xlsx', book(sheet(sheetStart, { method: 99 }))],
    ['cifrado.xlsx', book(sheet(sheetStart, { flags: 0x0801 }))],
    [
      'sem abas.xlsx',
      book({ 'xl/workbook.xml': { name: 'xl/workbook.xml', bytes: '<workbook><sheets/></workbook>' } }),
    ],
    [
      'aba que aponta para fora.xlsx',
      book({
        'xl/_rels/workbook.xml.rels': {
          name: 'xl/_rels/workbook.xml.rels',
          bytes: '<Relationships><Relationship Id="rId1" Target="../../../etc/passwd"/></Relationships>',
        },
      }),
    ],
    ['nome que sobe.xlsx', zipOf([...bookEntries([header, row]), { name: '../../x', bytes: 'x' }])],
    ['dez mil arquivos.xlsx', zipOf(Array.from({ length: 10_100 }, (_, index) => ({ name: `a${index}`, bytes: '' })))],
    ['macros.xlsx', book({ v: { name: 'xl/vbaProject.bin', bytes: 'x' } })],
    ['macros antigas.xlsx', book({ v: { name: 'xl/macrosheets/sheet1.xml', bytes: 'x' } })],
    ['fórmula.xlsx', workbookOf([header, ['04/03/2030', 9, { formula: '1+1' }]])],
    [
      'fórmula que chama.xlsx',
      workbookOf([header, ['04/03/2030', 9, { formula: 'WEBSERVICE("http://127.0.0.1:1/")' }]]),
    ],
    [
      'cabeçalho errado.xlsx',
      workbookOf([
        ['nome', 'valor'],
        ['x', 1],
      ]),
    ],
    ['só o cabeçalho.xlsx', workbookOf([header])],
    ['documento de texto.xlsx', zipOf([{ name: 'word/document.xml', bytes: '<x/>' }])],
    ['outro zip.xlsx', zipOf([{ name: 'leia.txt', bytes: 'x' }])],
    ['zip vazio.xlsx', zipOf([])],
    ['pdf e planilha.xlsx', Buffer.concat([goodPdf('data;hora'), plain])],
    ['zip e texto.xlsx', Buffer.concat([latin('data;hora\n'), plain])],
    [
      'zip dentro de zip.xlsx',
      zipOf([
        { name: 'xl/workbook.xml', bytes: workbookXml },
        { name: 'xl/worksheets/sheet1.xml', bytes: plain },
      ]),
    ],
    ['antigo.xls', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), noise(2000)])],
    ['pdf.csv', goodPdf('data;hora')],
    ['imagem.csv', Buffer.concat([latin('\x89PNG\r\n\x1a\n'), noise(500)])],
    ['gzip.csv', Buffer.concat([latin('\x1f\x8b\x08\0'), noise(500)])],
    ['ruído.csv', noise(9000)],
    ['zeros.csv', Buffer.alloc(100_000)],
    ['vazio.csv', Buffer.alloc(0)],
    ['só linhas.csv', latin('\n'.repeat(100_000))],
    ['uma linha sem fim.csv', Buffer.concat([latin('data;hora\n'), Buffer.alloc(8_000_000, 'x')])],
    ['aspas sem fim.csv', Buffer.concat([latin('data;hora\n"'), Buffer.alloc(8_000_000, 'x')])],
    ['colunas sem fim.csv', latin(`data;hora${';'.repeat(100_000)}\n`)],
    ['cabeçalho errado.csv', latin('a;b\n1;2\n')],
    ['fórmula.csv', latin('data;hora;visitas\n04/03/2030;9;=cmd|calc\n')],
    ['página da web.csv', latin('<!DOCTYPE html><html><body>404</body></html>')],
    ['json.csv', latin('{"data":1,"hora":2}')],
    ['utf-16 torto.csv', latin('\xff\xfed\0a')],
  ]
  return [...files.map(([name, bytes]) => ({ name, bytes, route })), ...truncated('planilha.xlsx', plain, route)]
}

export async function goodFiles(count: number): Promise<HostileFile[]> {
  const { jpeg, png: image, webp } = await pictures()
  const kinds: (() => Omit<HostileFile, 'name'>)[] = [
    () => ({ bytes: Buffer.from('data;hora;visitas\n04/03/2030;9;3\n'), route: 'extract-demand' }),
    () => ({ bytes: jpeg, route: 'generate-thumbnail' }),
    () => ({
      bytes: workbookOf([
        ['data', 'hora'],
        ['04/03/2030', 9],
      ]),
      route: 'extract-demand',
    }),
    () => ({ bytes: image, route: 'generate-thumbnail' }),
    () => ({ bytes: webp, route: 'generate-thumbnail' }),
    () => ({ bytes: goodPdf('Escala'), route: 'generate-thumbnail' }),
  ]
  return Array.from({ length: count }, (_, index) => ({ name: `bom ${index}`, ...kinds[index % kinds.length]!() }))
}
