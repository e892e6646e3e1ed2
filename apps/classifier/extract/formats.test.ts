/** The text of each format, and the ends of files that only look like one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { workbookOf, zipOf } from '../../planner/test/zips.ts'
import { docxOf, msgOf, nfe, odtOf, wordPart } from '../test/office-files.ts'
import { TextCollector } from './collect.ts'
import { headLength, type Parts, partsOf, tailLength } from './excerpt.ts'
import { type ReadKind, readFileAs } from './read-file.ts'
import { isScan } from './scan.ts'
import { kindOf } from './sniff.ts'

const folder = mkdtempSync(join(tmpdir(), 'retoma-formats-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function read(kind: ReadKind, bytes: Buffer | string) {
  const path = join(folder, String(files++))
  writeFileSync(path, bytes)
  return readFileAs({ path, kind })
}
const textOf = async (kind: ReadKind, bytes: Buffer | string) => ((await read(kind, bytes)) as Parts).head.trim()

test('a DOCX is read with its header, its tables and its notes, without deleted text and without a text twice', async () => {
  const cell = (text: string) => `<w:tc><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:tc>`
  const box = `<w:p><mc:AlternateContent><mc:Choice><w:t>carimbo</w:t></mc:Choice><mc:Fallback><w:t>carimbo</w:t></mc:Fallback></mc:AlternateContent></w:p>`
  const deleted = `<w:p><w:del><w:r><w:delText>apagado</w:delText></w:r></w:del><w:r><w:t>Cláusula</w:t><w:tab/><w:t>1ª</w:t><w:br/><w:t>fim</w:t></w:r></w:p>`
  const docx = docxOf(
    ['Contrato de locação'],
    [
      wordPart('header1', '<w:p><w:t>Imobiliária São João</w:t></w:p>'),
      wordPart('document', `${deleted}<w:tbl><w:tr>${cell('a')}${cell('b')}</w:tr></w:tbl>${box}`),
      wordPart('footnotes', '<w:p><w:t>nota &amp; rodapé</w:t></w:p>'),
    ],
  )
  expect(await textOf('zip', docx)).toBe('Imobiliária São João\nCláusula\t1ª\nfim\na\nb\ncarimbo\nnota & rodapé')
})

test('of a DOCX hidden and moved text, and tab stops, are not read', async () => {
  const run = (text: string, about = '') => `<w:r><w:rPr>${about}</w:rPr><w:t>${text}</w:t></w:r>`
  const docx = docxOf(
    [],
    [
      wordPart(
        'document',
        `<w:p><w:pPr><w:tabs><w:tab/><w:tab/></w:tabs><w:rPr><w:vanish/></w:rPr></w:pPr>${run('visto', '<w:vanish w:val="0"/>')}${run('escondido', '<w:vanish/>')}</w:p>
         <w:p><w:moveFrom>${run('movido')}</w:moveFrom></w:p><w:p><w:moveTo>${run('movido')}<w:r><w:noBreakHyphen/></w:r></w:moveTo></w:p>`,
      ),
    ],
  )
  expect(await textOf('zip', docx)).toBe('visto\nmovido-')
})

const mainOf = (target: string) => ({
  name: '_rels/.rels',
  bytes: `<Relationships><Relationship Type="http://x/officeDocument" Target="${target}"/></Relationships>`,
})

test('a DOCX of Word on the web, which names its document otherwise, and the slides of a PPTX are read', async () => {
  const web = zipOf([mainOf('/word/document2.xml'), wordPart('document2', '<w:p><w:t>Contrato</w:t></w:p>')])
  expect(await textOf('zip', web)).toBe('Contrato')
  const slide = (n: number) => ({
    name: `ppt/slides/slide${n}.xml`,
    bytes: `<p:sld><a:p><a:r><a:t>Slide ${n}</a:t></a:r></a:p></p:sld>`,
  })
  const slides = zipOf([mainOf('ppt/presentation.xml'), slide(10), slide(2)])
  expect(await textOf('zip', slides)).toBe('Slide 2\nSlide 10')
})

test('of an ODT the header, the footer and the notes are read; one with a password says so', async () => {
  const styles = {
    name: 'styles.xml',
    bytes: `<x><style:style><text:p>estilo</text:p></style:style><style:header><text:p>Silva Advogados</text:p></style:header><style:footer><text:p>folha 1</text:p></style:footer></x>`,
  }
  const note = '<text:p>Corpo<text:note><text:note-body><text:p>nota</text:p></text:note-body></text:note></text:p>'
  expect(await textOf('zip', odtOf(note, [styles]))).toBe('Silva Advogados\nCorpo\nnota\nfolha 1')
  const manifest = { name: 'META-INF/manifest.xml', bytes: '<m:file-entry><m:encryption-data/></m:file-entry>' }
  expect(await read('zip', odtOf('x', [manifest]))).toEqual({ trouble: 'file_encrypted' })
})

test('an ODT is read with its spaces and breaks, without deleted text', async () => {
  const content = `<text:tracked-changes><text:p>apagado</text:p></text:tracked-changes><text:h>Petição</text:h><text:p>ao<text:s text:c="3"/>juiz<text:line-break/>da <text:span>vara</text:span></text:p>`
  expect(await textOf('zip', odtOf(content))).toBe('Petição\nao   juiz\nda vara')
})

test('a workbook is read sheet by sheet, with the saved values of formulas', async () => {
  const rows = [
    ['Cliente', 'Valor'],
    ['João', 12.5],
    [null, { formula: 'SUM(B2)', value: '12.5' }],
  ]
  expect(await textOf('zip', workbookOf(rows))).toBe('[Visitas]\nCliente | Valor\nJoão | 12.5\n12.5')
})

test('an RTF is read with its accents, without fonts and pictures', async () => {
  const rtf = String.raw`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\*\generator Word;}{\info{\author x}}\uc1 Peti\'e7\'e3o inicial\par A\u231 ?\u227 ?o \{1\}{\pict\bin4 ab}c}\tab fim{\field{\*\fldinst HYPERLINK}{\fldrslt aqui}}{\v oculto\v0  e}{\deleted velho} visto}`
  expect(await textOf('rtf', Buffer.from(rtf, 'latin1'))).toBe('Petição inicial\nAção {1}\tfimaqui e visto')
})

test('of a web page its words are read, without scripts and styles', async () => {
  const html = `<!DOCTYPE html><title>Contrato</title><style>p{}</style><script>alert("x")</script><h1>Loca&ccedil;&atilde;o</h1><p>de <b>im&oacute;vel</b>\n  residencial<br>fim<table><tr><td>a<td>b</table>`
  expect(await textOf('html', html)).toBe('Contrato\nLocação\nde imóvel residencial\nfim\n\ta\tb')
})

test('of a web page the text that nobody sees is not read, and the text after it is', async () => {
  const html = `<p hidden>a<br>b</p><div style="color:red; display : none"><p>c<table><tr><td>d</table></div><span style="visibility:hidden">e</span><i style="font-size:0">f</i><div style="display:none">g</div></div><p style="font-size:0.9em">visto`
  expect(await textOf('html', html)).toBe('visto')
})

test('quotation marks and dashes of a message in Windows-1252 are read', async () => {
  const eml = 'Content-Type: text/plain; charset=windows-1252\r\n\r\n\x93Peti\xe7\xe3o\x94 \x96 urgente'
  expect(await textOf('eml', Buffer.from(eml, 'latin1'))).toBe('“Petição” – urgente')
})

test('of a message its subject, people and text are read, and its attachments are named', async () => {
  const eml = [
    'From: =?utf-8?q?Jo=C3=A3o?= <joao@exemplo.com.br>',
    'To: maria@exemplo.com.br',
    'Subject: =?iso-8859-1?Q?Notifica=E7=E3o?=',
    'Date: Mon, 4 Mar 2030 09:00:00 -0300',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/html; charset=iso-8859-1',
    '',
    Buffer.from('<p>Rescisão do contrato</p>', 'latin1').toString('latin1'),
    '--x',
    'Content-Type: application/pdf; name="contrato.pdf"',
    'Content-Disposition: attachment; filename="contrato.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    'AAAA',
    '--x--',
  ].join('\r\n')
  const text = await textOf('eml', Buffer.from(eml, 'latin1'))
  expect(text).toContain('Assunto: Notificação\nDe: João <joao@exemplo.com.br>\nPara: <maria@exemplo.com.br>')
  expect(text).toContain('Anexos: contrato.pdf')
  expect(text).toMatch(/\n\nRescisão do contrato$/)
})

test('a message of Outlook is read; an old Office file says how to send it, a locked one that it is locked', async () => {
  const msg = msgOf({ '0037': 'Notificação', '0C1A': 'João', '1000': 'Rescisão do contrato' })
  expect(await textOf('ole', msg)).toBe('Assunto: Notificação\nDe: João\n\nRescisão do contrato')
  const ole = (stream: string) => Buffer.concat([msg.subarray(0, 8), Buffer.alloc(600), Buffer.from(stream, 'utf16le')])
  expect(await read('ole', ole('WordDocument'))).toEqual({ foreign: expect.stringContaining('salve como .docx') })
  expect(await read('ole', ole('EncryptedPackage'))).toEqual({ trouble: 'file_encrypted' })
})

test('an NF-e is read by the names of its fields, without its signature', async () => {
  const text = await textOf('xml', nfe)
  expect(text).toMatch(/^Nota Fiscal Eletrônica \(NF-e\)\n/)
  for (const line of [
    'natureza da operação (natOp): Venda de mercadoria',
    'emitente (emit):',
    'nome (xNome): Padaria São João & Filhos Ltda',
    'produto (xProd): Pão francês',
    'valor da nota (vNF): 12.50',
  ])
    expect(text).toContain(line)
  expect(text).not.toContain('QUJD')
})

test('of an XML with a document type only the document is read, and no entity is expanded', async () => {
  const xml =
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y"><!ENTITY z SYSTEM "file:///etc/passwd">]><a>&x;&z; fim</a>'
  expect(await textOf('xml', xml)).toBe('a: &x;&z; fim')
})

test.each([
  ['contrato.docx', 'PK\x03\x04', 'zip'],
  ['vazio.zip', 'PK\x05\x06', 'zip'],
  ['x.msg', '\xd0\xcf\x11\xe0', 'ole'],
  ['sem nome', '{\\rtf1', 'rtf'],
  ['foto.png', '\x89PNG\r\n', 'image'],
  ['scan.tif', 'II*\0', 'image'],
  ['pagina.html', 'oi', 'html'],
  ['nota.xml', '<nfeProc>', 'xml'],
  ['nota', '\xef\xbb\xbf<?xml version="1.0"?>', 'xml'],
  ['mensagem.eml', 'From: a', 'eml'],
  ['nota em UTF-16', '\xff\xfe<\0?\0x\0m\0l\0', 'xml'],
  ['página em UTF-16', '\xfe\xff\0<\0h\0t\0m\0l\0>', 'html'],
  ['pagina.txt', '<html>', 'plain'],
  ['lista.csv', 'a;b', 'plain'],
  ['virus.exe', 'MZ', undefined],
  ['a.rar', 'Rar!', undefined],
])('%s is told by its bytes and its name', (name, start, kind) => {
  const head = Buffer.from(start, 'latin1')
  expect(kindOf({ size: head.length, head, tail: head }, name, 'application/octet-stream')).toBe(kind)
})

test('a page is a scan if images cover half of it, or nearly all that it has is an image', () => {
  expect(isScan(400, 0.9)).toBe(true)
  expect(isScan(10, 0.1)).toBe(true)
  expect(isScan(400, 0.2)).toBe(false)
  expect(isScan(0, 0.01)).toBe(false)
})

test('a text that comes in pieces is cut as a whole text is', () => {
  const long = (n: number) => 'abcdefghi '.repeat(n)
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { maxLength: 12 }), sizes => {
      const text = new TextCollector()
      for (const size of sizes) text.add(long(size))
      expect(text.parts()).toEqual(partsOf(sizes.map(long).join('')))
    }),
    { numRuns: 30 },
  )
  const whole = new TextCollector()
  whole.add('x'.repeat(headLength + tailLength))
  expect(whole.parts()).toMatchObject({ tail: null, omitted: 0 })
})
