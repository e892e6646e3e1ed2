/**
 * Reads the text of a file. Each format is loaded on its first use, because each start of the process loads the imports. A problem of a
 * document is a result; a thrown error is a problem of this code.
 */
import { readFile } from 'node:fs/promises'
import type { Parts } from './excerpt.ts'
import type { ReadPdf } from './pdf.ts'
import { decode, tidy } from './plain.ts'
import type { Kind } from './sniff.ts'

export type ReadKind = Exclude<Kind, 'plain' | 'image'>

export interface ReadInput {
  path: string
  kind: ReadKind
  /** The scanned pages of a PDF are wanted. Default false. */
  findScans?: boolean
  /** The choice of pages of a PDF (page-selection.ts). Default: all. */
  pages?: string | null
}

export type ReadFile =
  | ReadPdf
  | Parts
  /** No reader for the file; in Portuguese, for the sender. */
  | { foreign: string }
  | { trouble: 'file_encrypted' | 'text_binary' }
  | { trouble: 'file_bomb'; megabytes: number; most: number }
  | { trouble: 'file_beyond_limits'; en: string; pt: string }

export async function readFileAs({ path, kind, ...options }: ReadInput): Promise<ReadFile> {
  const read = await readers[kind](path, options)
  return 'head' in read ? { ...read, head: tidy(read.head), tail: read.tail === null ? null : tidy(read.tail) } : read
}

type PdfOptions = Omit<ReadInput, 'path' | 'kind'>

const readers: Readonly<Record<ReadKind, (path: string, options: PdfOptions) => Promise<ReadFile>>> = {
  pdf: async (path, options) => (await import('./pdf.ts')).readPdf(new Uint8Array(await readFile(path)), options),
  zip: readZip,
  ole: readOle,
  rtf: async path =>
    (await import('./rtf.ts')).readRtf(await readFile(path)) ?? { foreign: 'parece ser RTF, mas está danificado' },
  html: path => readText(path, async text => (await import('./markup.ts')).readHtml(text)),
  xml: path => readText(path, async text => (await import('./markup.ts')).readXmlText(text)),
  eml: async path => {
    const { readEml } = await import('./mail.ts')
    return readEml(await readFile(path)).catch(() => ({ foreign: 'parece ser um e-mail, mas está danificado' }))
  },
}

async function readText(path: string, read: (text: string) => Promise<Parts>): Promise<ReadFile> {
  const decoded = decode(await readFile(path))
  return 'binary' in decoded ? { trouble: 'text_binary' } : read(decoded.text)
}

async function readZip(path: string): Promise<ReadFile> {
  const [{ readOffice }, { FileTrouble }] = await Promise.all([import('./office.ts'), import('@retoma/office-files')])
  try {
    return (
      (await readOffice(path)) ?? { foreign: 'é um ZIP vazio, dentro de outro ZIP ou de um programa, que não é aberto' }
    )
  } catch (error) {
    if (!(error instanceof FileTrouble)) throw error
    const { of } = error
    switch (of.trouble) {
      case 'corrupt':
        return { foreign: 'parece ser um ZIP ou um arquivo do Office, mas está danificado' }
      case 'path_outside':
        return { foreign: 'é um ZIP com um caminho para fora da sua pasta' }
      case 'encrypted':
        return { trouble: 'file_encrypted' }
      case 'bomb':
        return { trouble: 'file_bomb', megabytes: of.megabytes, most: of.most }
      case 'too_large':
        return { trouble: 'file_beyond_limits', en: of.en, pt: of.pt }
    }
  }
}

/** Names of streams are UTF-16 in an OLE file. */
async function readOle(path: string): Promise<ReadFile> {
  const bytes = await readFile(path)
  const has = (stream: string) => bytes.includes(Buffer.from(stream, 'utf16le'))
  if (has('EncryptedPackage')) return { trouble: 'file_encrypted' }
  if (!has('__properties_version1.0'))
    return { foreign: 'é um arquivo do Office no formato antigo; salve como .docx, .xlsx ou PDF' }
  const { readMsg } = await import('./mail.ts')
  try {
    return readMsg(bytes)
  } catch {
    return { foreign: 'parece ser uma mensagem do Outlook, mas está danificada' }
  }
}
