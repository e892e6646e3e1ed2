/**
 * Ten small PDFs for the document classifier, written by hand: `node examples/classifier/pdfs.mjs documentos`.
 * Each is one page of plain text in a font that every reader has.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = 'documentos'] = process.argv.slice(2)

const documents = {
  contrato: [
    'Contrato de locação de imóvel comercial',
    'Contrato de prestação de serviços de contabilidade',
    'Contrato de compra e venda de veículo',
    'Contrato de trabalho por prazo determinado',
  ],
  'nota-fiscal': [
    'Nota fiscal 1045: 12 cadeiras de escritório',
    'Nota fiscal 1046: manutenção de ar-condicionado',
    'Nota fiscal 1047: 300 resmas de papel A4',
  ],
  peticao: [
    'Petição inicial: ação de cobrança de aluguéis',
    'Petição de juntada de documentos',
    'Petição: pedido de prazo para manifestação',
  ],
}

mkdirSync(folder, { recursive: true })
let number = 0
for (const [name, titles] of Object.entries(documents))
  for (const title of titles) {
    const file = `${String(++number).padStart(2, '0')}-${name}.pdf`
    writeFileSync(join(folder, file), pdf([title, `São Paulo, ${number} de março de 2026.`]))
  }
console.log(`${number} PDFs: ${folder}`)

function pdf(lines) {
  const escaped = lines.map(line => line.replace(/[\\()]/g, '\\$&'))
  const text = `BT /F1 14 Tf 72 760 Td 22 TL ${escaped.map(line => `(${line}) Tj T*`).join(' ')} ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ]
  let body = '%PDF-1.4\n'
  const places = objects.map((object, index) => {
    const at = body.length
    body += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, '0')} 00000 n \n`
  })
  const size = objects.length + 1
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}`
  const end = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`
  // 1 byte for each character, because the lengths and the encoding of the PDF assume latin1.
  return Buffer.from(body + table + end, 'latin1')
}
