/** Makes files of Office programs, messages and fiscal documents for tests. */
import { burn } from '@kenjiuno/msgreader/lib/Burner.js'
import { type ZipEntry, zipOf } from '../../planner/test/zips.ts'

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const word = (content: string) =>
  `<?xml version="1.0"?><w:document xmlns:w="w" xmlns:mc="mc"><w:body>${content}</w:body></w:document>`
const paragraph = (text: string) => `<w:p><w:r><w:t>${escaped(text)}</w:t></w:r></w:p>`

/** `more`: further entries; the last entry with a name counts. */
export function docxOf(lines: readonly string[], more: readonly ZipEntry[] = []): Buffer {
  const entries: ZipEntry[] = [
    { name: '[Content_Types].xml', bytes: '<Types/>' },
    { name: 'word/document.xml', bytes: word(lines.map(paragraph).join('')) },
    ...more,
  ]
  return zipOf([...new Map(entries.map(entry => [entry.name, entry])).values()])
}

export const wordPart = (name: string, content: string): ZipEntry => ({
  name: `word/${name}.xml`,
  bytes: word(content),
})

export const odtOf = (content: string, more: readonly ZipEntry[] = []): Buffer =>
  zipOf([
    { name: 'mimetype', bytes: 'application/vnd.oasis.opendocument.text', method: 0 },
    {
      name: 'content.xml',
      bytes: `<?xml version="1.0"?><office:document-content><office:body><office:text>${content}</office:text></office:body></office:document-content>`,
    },
    ...more,
  ])

/** A message of Outlook: properties by their tag, texts in UTF-16. */
export function msgOf(properties: Readonly<Record<string, string>>): Buffer {
  const streams = Object.entries(properties).map(([tag, text]) => ({
    name: `__substg1.0_${tag}001F`,
    bytes: Buffer.from(text, 'utf16le'),
  }))
  // The header of the root, then 16 bytes for each property: type, tag, flags, length.
  const table = Buffer.concat([
    Buffer.alloc(32),
    ...streams.map(({ name, bytes }) => {
      const row = Buffer.alloc(16)
      row.writeUInt16LE(0x001f, 0)
      row.writeUInt16LE(Number.parseInt(name.slice(12, 16), 16), 2)
      row.writeUInt32LE(6, 4)
      row.writeUInt32LE(bytes.length + 2, 8)
      return row
    }),
  ])
  const files = [{ name: '__properties_version1.0', bytes: table }, ...streams]
  const entries = files.map(({ name, bytes }) => ({
    name,
    type: 2 as const,
    length: bytes.length,
    binaryProvider: () => new Uint8Array(bytes),
  }))
  const children = files.map((_, index) => index + 1)
  return Buffer.from(burn([{ name: 'Root Entry', type: 5, length: 0, children }, ...entries]))
}

export const nfe = `<?xml version="1.0" encoding="UTF-8"?>
<nfeProc xmlns="http://www.portalfiscal.inf.br/nfe" versao="4.00"><NFe><infNFe Id="NFe3530" versao="4.00">
<ide><natOp>Venda de mercadoria</natOp><nNF>1234</nNF><dhEmi>2030-03-04T09:00:00-03:00</dhEmi></ide>
<emit><CNPJ>00000000000191</CNPJ><xNome>Padaria São João &amp; Filhos Ltda</xNome></emit>
<dest><xNome>Maria da Conceição</xNome></dest>
<det nItem="1"><prod><xProd>Pão francês</xProd><qCom>10.0000</qCom><vProd>12.50</vProd></prod></det>
<total><ICMSTot><vNF>12.50</vNF></ICMSTot></total></infNFe>
<Signature><SignatureValue>${'QUJD'.repeat(200)}</SignatureValue></Signature></NFe></nfeProc>`
