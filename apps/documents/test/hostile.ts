/** A hundred hostile PDFs: the fifty of the classifier, fifty damaged by chance, and those with scripts, attachments and many pages. */
import { hostilePdfs } from '../../classifier/test/hostile.ts'
import { documentOf, goodPdf, latinText, streamOf, writePdf } from '../../classifier/test/pdfs.ts'

export interface NamedPdf {
  name: string
  bytes: Buffer
}

const page = () => streamOf(latinText('Contrato com anexo'))

/** Opens with a script, and has a script behind the page. */
const script = (): Buffer => {
  const objects = documentOf([page()], { page: '/AA << /O 6 0 R >>' })
  objects[0] = '<< /Type /Catalog /Pages 2 0 R /OpenAction 6 0 R >>'
  return writePdf([...objects, '<< /S /JavaScript /JS (while (true) app.launchURL("http://127.0.0.1/")) >>'])
}

/** Has a program as an attachment. */
const attachment = (): Buffer => {
  const objects = documentOf([page()])
  objects[0] = '<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a.exe) 6 0 R] >> >> >>'
  const file = streamOf(Buffer.alloc(200_000, 'MZ'), { deflated: true, dictionary: '/Type /EmbeddedFile' })
  return writePdf([...objects, '<< /Type /Filespec /F (a.exe) /EF << /F 7 0 R >> >>', file])
}

/** Small pages, all different. */
const manyPages = (count: number): Buffer => goodPdf(Array.from({ length: count }, (_, n) => `Página ${n + 1}`))

/** Good PDFs, or nearly: each is DONE. */
export const oddPdfs = (): (NamedPdf & { pages: number })[] => [
  { name: 'com script.pdf', bytes: script(), pages: 1 },
  { name: 'com anexo.pdf', bytes: attachment(), pages: 1 },
  { name: '5000 páginas.pdf', bytes: manyPages(5000), pages: 5000 },
]

/** A good PDF with bytes changed, the same each time. */
function damaged(seed: number): Buffer {
  const bytes = goodPdf(['Contrato de locação', 'Segunda página', 'Terceira página'])
  let state = seed
  const next = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return (state >> 8) % below
  }
  for (let n = 0; n < 1 + (seed % 40); n++) bytes[9 + next(bytes.length - 9)] = next(256)
  return Buffer.concat([bytes, Buffer.from('\n%%EOF\n')])
}

export const hundredHostile = (): NamedPdf[] => [
  ...hostilePdfs(),
  ...Array.from({ length: 100 - hostilePdfs().length }, (_, n) => ({
    name: `danificado ${n + 1}.pdf`,
    bytes: damaged(n + 1),
  })),
]
