/**
 * Fifty unreadable files that claim to be PDFs, each with the possible results: `skip`, or the code of an error. Made by code, so the
 * name of each file says the problem. None has a text.
 */
import { constants, deflateRawSync, deflateSync } from 'node:zlib'
import { documentOf, goodPdf, type PdfObject, streamOf, writePdf } from './pdfs.ts'

export interface HostileFile {
  name: string
  bytes: Buffer
  ends: readonly string[]
}

const latin = (text: string) => Buffer.from(text, 'latin1')
const repeat = (text: string, times: number) => latin(text).toString('latin1').repeat(times)
const deflated = (content: string) => streamOf(content, { deflated: true })

/** Random bytes, equal each time. */
function noise(length: number, seed = 7): Buffer {
  let state = seed
  return Buffer.from(
    Uint8Array.from({ length }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state >> 16
    }),
  )
}

/** A page with the content, followed by the objects 6, 7, … */
const pageWith = (content: PdfObject, more: PdfObject[] = [], page = '', font?: string) =>
  writePdf([...documentOf([content], { page, ...(font === undefined ? {} : { font }) }), ...more])

const spaces = 1024 * 1024

/** Megabytes of spaces, deflated: a repeatable piece, so the whole is never in memory. */
function deflatedSpaces(megabytes: number): Buffer {
  const piece = deflateRawSync(Buffer.alloc(spaces, ' '), { finishFlush: constants.Z_FULL_FLUSH })
  const pieces = Array.from({ length: megabytes }, () => piece)
  const length = BigInt(megabytes) * BigInt(spaces)
  const sum = (1n + length * 32n) % 65_521n
  const sums = (length + (32n * length * (length + 1n)) / 2n) % 65_521n
  const check = Buffer.alloc(4)
  check.writeUInt32BE(Number(sums * 65_536n + sum))
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...pieces, Buffer.from([0x03, 0x00]), check])
}

/** 1 GB of spaces is some kilobytes after the second layer, and 1 kB after the third. */
function bomb(megabytes: number, layers: number): Buffer {
  let bytes = deflatedSpaces(megabytes)
  for (let layer = 1; layer < layers; layer++) bytes = deflateSync(bytes)
  const filters = '/FlateDecode '.repeat(layers)
  return Buffer.concat([
    latin(`<< /Length ${bytes.length} /Filter [${filters}] >>\nstream\n`),
    bytes,
    latin('\nendstream'),
  ])
}

const form = (content: string, resources: string) =>
  streamOf(content, {
    dictionary: `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << ${resources} >> >>`,
  })

/** A page that draws the form of object 6. */
const drawing = (forms: PdfObject[]) =>
  writePdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    'null',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /XObject << /A 6 0 R >> >> /Contents 5 0 R >>',
    streamOf('/A Do'),
    ...forms,
  ])

const key = (length: number, seed: number) => `<${noise(length, seed).toString('hex')}>`
const locked = (dictionary: string) => {
  const objects = documentOf([streamOf(noise(200))])
  const trailer = `/Encrypt ${objects.length + 1} 0 R /ID [${key(16, 1)} ${key(16, 1)}]`
  return writePdf([...objects, `<< ${dictionary} >>`], { trailer })
}

const whole = goodPdf(Array.from({ length: 20 }, (_, page) => `Contrato, página ${page + 1}`))
const truncated = (part: number): HostileFile => ({
  name: `truncado ${Math.round(part * 100)}.pdf`,
  bytes: whole.subarray(0, Math.floor(whole.length * part)),
  ends: ['pdf_truncated'],
})

/** The good PDF with another cross-reference table. */
function withXref(tail: (at: number, good: string) => string): Buffer {
  const good = goodPdf('')
  const at = good.lastIndexOf('xref\n0')
  return Buffer.concat([good.subarray(0, at), latin(tail(at, good.subarray(at).toString('latin1')))])
}

const xrefStream = (dictionary: string, content: Buffer) => {
  const head = latin('%PDF-1.7\n')
  const object = Buffer.concat([
    latin('1 0 obj\n'),
    streamOf(content, { dictionary: `/Type /XRef ${dictionary}` }),
    latin('\nendobj\n'),
  ])
  return Buffer.concat([head, object, latin(`startxref\n${head.length}\n%%EOF\n`)])
}

const tree = (catalog: string, ...objects: string[]) => writePdf([catalog, ...objects])
const broken = ['pdf_corrupt', 'pdf_without_pages']
const slow = ['pdf_timeout', 'pdf_memory', 'pdf_corrupt']
const emptyOr = (...codes: string[]) => ['skip', ...codes]

export const hostilePdfs = (): HostileFile[] => [
  ...[0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(truncated),
  { name: 'truncado no fim.pdf', bytes: whole.subarray(0, -3), ends: ['pdf_truncated'] },
  { name: 'só o cabeçalho.pdf', bytes: latin('%PDF-1.7\n'), ends: ['pdf_truncated'] },

  {
    name: 'senha rc4.pdf',
    bytes: locked(`/Filter /Standard /V 1 /R 2 /P -44 /O ${key(32, 2)} /U ${key(32, 3)}`),
    ends: ['pdf_encrypted'],
  },
  {
    name: 'senha aes 128.pdf',
    bytes: locked(
      `/Filter /Standard /V 4 /R 4 /Length 128 /P -44 /O ${key(32, 2)} /U ${key(32, 3)} /CF << /StdCF << /CFM /AESV2 /Length 16 >> >> /StmF /StdCF /StrF /StdCF`,
    ),
    ends: ['pdf_encrypted'],
  },
  {
    name: 'senha aes 256.pdf',
    bytes: locked(
      `/Filter /Standard /V 5 /R 6 /Length 256 /P -44 /O ${key(48, 2)} /U ${key(48, 3)} /OE ${key(32, 4)} /UE ${key(32, 5)} /Perms ${key(16, 6)} /CF << /StdCF << /CFM /AESV3 /Length 32 >> >> /StmF /StdCF /StrF /StdCF`,
    ),
    ends: ['pdf_encrypted'],
  },
  { name: 'cifra desconhecida.pdf', bytes: locked('/Filter /Nobody /V 9'), ends: ['pdf_encrypted'] },

  { name: 'bomba 1.pdf', bytes: pageWith(bomb(4096, 2)), ends: slow },
  { name: 'bomba 2.pdf', bytes: pageWith(bomb(4096, 3)), ends: slow },
  {
    name: 'bomba de referências.pdf',
    bytes: writePdf([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
      'null',
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents [${'5 0 R '.repeat(5000)}] >>`,
      deflated(repeat('0 0 m 1 1 l S\n', 70_000)),
    ]),
    ends: emptyOr(...slow),
  },

  { name: 'forma em si mesma.pdf', bytes: drawing([form('/A Do', '/A 6 0 R')]), ends: emptyOr(...slow) },
  {
    name: 'formas em círculo.pdf',
    bytes: drawing([form('/B Do', '/B 7 0 R'), form('/A Do', '/A 6 0 R')]),
    ends: emptyOr(...slow),
  },
  {
    name: 'formas aos bilhões.pdf',
    bytes: drawing(
      Array.from({ length: 12 }, (_, level) => form('/N Do '.repeat(10), level < 11 ? `/N ${7 + level} 0 R` : '')),
    ),
    ends: emptyOr(...slow),
  },

  {
    name: '3 milhões de linhas.pdf',
    bytes: pageWith(deflated(repeat('0 0 m 1 1 l S\n', 1_000_000))),
    ends: emptyOr(...slow),
  },
  { name: '3 milhões de q.pdf', bytes: pageWith(deflated(repeat('q ', 3_000_000))), ends: emptyOr(...slow) },
  {
    name: '3 milhões de textos vazios.pdf',
    bytes: pageWith(deflated(`BT /F1 9 Tf ${repeat('( ) Tj ', 3_000_000)} ET`)),
    ends: emptyOr(...slow),
  },

  {
    name: 'zero páginas.pdf',
    bytes: tree('<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>'),
    ends: broken,
  },
  { name: 'sem árvore.pdf', bytes: tree('<< /Type /Catalog >>'), ends: broken },
  { name: 'sem catálogo.pdf', bytes: tree('null'), ends: broken },
  {
    name: 'página que é sua mãe.pdf',
    bytes: tree('<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 1 >>'),
    ends: broken,
  },
  {
    name: 'árvore em círculo.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 9 >>',
      '<< /Type /Pages /Kids [2 0 R] /Count 9 /Parent 2 0 R >>',
    ),
    ends: broken,
  },
  {
    name: 'um bilhão de páginas.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>',
    ),
    ends: emptyOr(...broken, ...slow),
  },
  {
    name: 'páginas negativas.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count -5 >>',
      '<< /Type /Page /Parent 2 0 R >>',
    ),
    ends: broken,
  },
  {
    name: 'cem mil vezes a mesma página.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      `<< /Type /Pages /Kids [${'3 0 R '.repeat(100_000)}] /Count 100000 >>`,
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>',
    ),
    ends: emptyOr(...slow),
  },
  {
    name: 'árvore funda.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      ...Array.from({ length: 20_000 }, (_, level) => `<< /Type /Pages /Kids [${level + 3} 0 R] /Count 1 >>`),
      '<< /Type /Page /MediaBox [0 0 9 9] >>',
    ),
    ends: emptyOr(...broken, ...slow),
  },

  {
    name: 'xref em círculo.pdf',
    bytes: withXref((at, good) => good.replace('/Root', `/Prev ${at} /Root`)),
    ends: emptyOr(...broken),
  },
  { name: 'xref longe.pdf', bytes: withXref(() => 'startxref\n99999999\n%%EOF\n'), ends: emptyOr(...broken) },
  {
    name: 'xref de zeros.pdf',
    bytes: withXref((_, good) => good.replace(/\d{10} 00000 n/g, '0000000000 00000 n')),
    ends: emptyOr(...broken),
  },
  {
    name: 'xref infinito.pdf',
    bytes: withXref((at, good) =>
      good.replace(/xref\n0 \d+/, 'xref\n0 2000000000').replace(/startxref\n\d+/, `startxref\n${at}`),
    ),
    ends: emptyOr(...broken, ...slow),
  },
  { name: 'fluxo de xref com lixo.pdf', bytes: xrefStream('/Size 9 /W [1 2 1] /Root 1 0 R', noise(64)), ends: broken },
  {
    name: 'fluxo de xref em círculo.pdf',
    bytes: xrefStream('/Size 2 /W [1 2 1] /Root 1 0 R /Prev 9', Buffer.alloc(8)),
    ends: broken,
  },
  {
    name: 'fluxo de xref enorme.pdf',
    bytes: xrefStream('/Size 2000000000 /W [8 8 8] /Index [0 2000000000] /Root 1 0 R', Buffer.alloc(24)),
    ends: [...broken, ...slow],
  },
  {
    name: 'fluxo de objetos quebrado.pdf',
    bytes: tree(
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids 3 0 R /Count 3 >>',
      '<< /Type /ObjStm /N 99999999 /First 12 /Extends 3 0 R /Length 4 >>\nstream\n9 9 \nendstream',
    ),
    ends: broken,
  },
  {
    name: 'comprimento em círculo.pdf',
    bytes: pageWith('<< /Length 5 0 R >>\nstream\nBT ET\nendstream'),
    ends: emptyOr(...broken),
  },

  { name: 'página da web.pdf', bytes: latin('<!DOCTYPE html><html><body>404</body></html>'), ends: ['not_a_pdf'] },
  { name: 'vazio.pdf', bytes: Buffer.alloc(0), ends: ['skip'] },
  { name: 'ruído.pdf', bytes: noise(5000), ends: ['not_a_pdf'] },
  {
    name: 'ruído com rosto.pdf',
    bytes: Buffer.concat([latin('%PDF-1.7\n'), noise(5000), latin('\n%%EOF\n')]),
    ends: broken,
  },
  { name: 'pasta zip.pdf', bytes: Buffer.concat([latin('PK\x03\x04\x14\x00'), noise(500)]), ends: ['not_a_pdf'] },
  { name: 'imagem.pdf', bytes: Buffer.concat([latin('\x89PNG\r\n\x1a\n'), noise(500)]), ends: ['not_a_pdf'] },

  {
    name: 'cem mil colchetes.pdf',
    bytes: pageWith(streamOf(`${'['.repeat(100_000)}${']'.repeat(100_000)} TJ`)),
    ends: emptyOr(...slow),
  },
  {
    name: 'dicionários fundos.pdf',
    bytes: pageWith(streamOf(''), [], `/Metadata ${'<< /A '.repeat(50_000)}0${' >>'.repeat(50_000)}`),
    ends: emptyOr(...broken, ...slow),
  },
  {
    name: 'página gigante.pdf',
    bytes: latin(pageWith(streamOf('')).toString('latin1').replace('[0 0 595 842]', '[0 0 9e9 9e9]')),
    ends: ['skip', ...broken],
  },
  {
    name: 'fonte quebrada.pdf',
    bytes: pageWith(
      streamOf('BT /F1 9 Tf ( ) Tj ET'),
      [`<< /Type /FontDescriptor /FontName /X /Flags 4 /FontFile2 7 0 R >>`, streamOf(noise(2000))],
      '',
      '<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor 6 0 R /ToUnicode 7 0 R >>',
    ),
    ends: emptyOr(...slow),
  },
  {
    name: 'ToUnicode sem fim.pdf',
    bytes: pageWith(
      streamOf('BT /F1 9 Tf ( ) Tj ET'),
      [
        streamOf(
          'begincmap 1 begincodespacerange <00000000> <FFFFFFFF> endcodespacerange 1 beginbfrange <00000000> <FFFFFFFF> <0020> endbfrange endcmap',
        ),
      ],
      '',
      '<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (A) /Ordering (I) /Supplement 0 >> >>] >>',
    ),
    ends: emptyOr(...slow),
  },
]
