/** A PDF of one page, to see a document without a file of one's own. Only the parts that a reader needs. */

const lines = [
  'CONTRATO DE LOCAÇÃO RESIDENCIAL (exemplo)',
  '',
  'O locador cede ao locatário o imóvel da Rua das Flores, 100, pelo prazo de doze meses.',
  'O aluguel é de R$ 1.500,00 por mês, com vencimento no dia dez.',
  'As partes elegem o foro da cidade para resolver as questões deste contrato.',
]

/** Letters outside ASCII and the marks of a PDF string as octal codes of Latin-1. */
const quoted = (line: string) =>
  line.replace(/[()\\]|[^ -~]/g, letter => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`)

export function samplePdf(): File {
  const text = `BT /F1 11 Tf 18 TL 50 780 Td\n${lines.map(line => `(${quoted(line)}) Tj T*`).join('\n')}\nET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
  ]
  let pdf = '%PDF-1.7\n'
  const offsets = objects.map((object, index) => {
    const offset = pdf.length
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 6\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size 6 /Root 1 0 R >>\n`
  return new File([`${pdf}${table}startxref\n${pdf.length}\n%%EOF\n`], 'contrato-exemplo.pdf', {
    type: 'application/pdf',
  })
}
