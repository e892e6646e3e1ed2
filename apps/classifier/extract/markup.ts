/**
 * Reads the text of HTML and of XML. Runs in a separate process (read.ts). Nothing of a page is executed or fetched, and no entity of a
 * document is expanded.
 */
import { xmlParser } from '@retoma/office-files'
import { Parser } from 'htmlparser2'
import { TextCollector } from './collect.ts'
import type { Parts } from './excerpt.ts'

const unseen = new Set(['script', 'style', 'template', 'noscript', 'svg', 'math', 'object', 'iframe'])
/** Text that a program writes and a person does not see, such as instructions for a reader that is no person. */
const unseenStyle =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|font-size\s*:\s*0(?:px|pt|em|rem|%)?\s*(?:;|!|$))/i
const longestStyle = 1000

const isUnseen = (tag: string, { hidden, style = '' }: Record<string, string>): boolean =>
  unseen.has(tag) || hidden !== undefined || unseenStyle.test(style.slice(0, longestStyle))

const blocks = new Set([
  ...[
    'address',
    'article',
    'aside',
    'blockquote',
    'br',
    'caption',
    'dd',
    'div',
    'dl',
    'dt',
    'figure',
    'footer',
    'form',
  ],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li', 'main', 'nav', 'ol', 'option', 'p', 'pre', 'section'],
  ...['table', 'tbody', 'tfoot', 'thead', 'title', 'tr', 'ul'],
])

export function readHtml(html: string): Parts {
  const text = new TextCollector()
  addHtml(html, text)
  return text.parts()
}

export function addHtml(html: string, text: TextCollector): void {
  let depth = 0
  /** The depth of the element that is not seen, with all inside it. */
  let unseenFrom = Number.POSITIVE_INFINITY
  let isSpaced = true
  const newLine = () => {
    text.line()
    isSpaced = true
  }
  const parser = new Parser({
    onopentag(tag, attributes) {
      depth++
      if (depth < unseenFrom && isUnseen(tag, attributes)) unseenFrom = depth
      if (blocks.has(tag)) newLine()
      if ((tag === 'td' || tag === 'th') && depth < unseenFrom) {
        text.add('\t')
        isSpaced = true
      }
    },
    ontext(given) {
      if (depth >= unseenFrom) return
      const words = given.replace(/\s+/g, ' ')
      const shown = isSpaced ? words.trimStart() : words
      if (shown === '') return
      text.add(shown)
      isSpaced = shown.endsWith(' ')
    },
    onclosetag(tag) {
      if (depth === unseenFrom) unseenFrom = Number.POSITIVE_INFINITY
      depth--
      if (blocks.has(tag)) newLine()
    },
  })
  parser.write(html)
  parser.end()
}

/** Fiscal documents of Brazil by the root of their XML. */
const fiscal: Readonly<Record<string, string>> = {
  nfeproc: 'Nota Fiscal Eletrônica (NF-e)',
  nfe: 'Nota Fiscal Eletrônica (NF-e)',
  cteproc: 'Conhecimento de Transporte Eletrônico (CT-e)',
  cte: 'Conhecimento de Transporte Eletrônico (CT-e)',
  mdfeproc: 'Manifesto de Documentos Fiscais (MDF-e)',
  mdfe: 'Manifesto de Documentos Fiscais (MDF-e)',
  cfe: 'Cupom Fiscal Eletrônico (CF-e)',
  compnfse: 'Nota Fiscal de Serviço (NFS-e)',
  nfse: 'Nota Fiscal de Serviço (NFS-e)',
  consultarnfserresposta: 'Nota Fiscal de Serviço (NFS-e)',
  proceventonfe: 'Evento de Nota Fiscal Eletrônica (NF-e)',
  procinutnfe: 'Inutilização de Nota Fiscal Eletrônica (NF-e)',
}

/** Short names of an NF-e for a reader that does not know the layout. */
const known: Readonly<Record<string, string>> = {
  natOp: 'natureza da operação',
  nNF: 'número',
  dhEmi: 'emissão',
  dEmi: 'emissão',
  emit: 'emitente',
  dest: 'destinatário',
  xNome: 'nome',
  xFant: 'nome fantasia',
  xProd: 'produto',
  qCom: 'quantidade',
  vUnCom: 'valor unitário',
  vProd: 'valor do produto',
  vNF: 'valor da nota',
  xMun: 'município',
  infCpl: 'informações complementares',
}

/** The signature and the certificate: thousands of characters without a word. */
const unread = new Set(['Signature'])
const longestValue = 5000

/** A line for each value, with the name of its element: `produto (xProd): caneta`. Attributes with a value are read too. */
export function readXmlText(xml: string): Parts {
  const text = new TextCollector()
  let hidden = 0
  let value = ''
  let isRoot = true
  const write = (tag: string) => {
    const shown = value.replace(/\s+/g, ' ').trim()
    value = ''
    if (shown === '') return
    text.add(`${nameOf(tag)}: ${shown}\n`)
  }
  const parser = xmlParser({
    open(tag, attributes) {
      if (isRoot) {
        // The rest of a document type with entities is no text.
        value = ''
        addRoot(tag, text)
      }
      isRoot = false
      if (unread.has(tag)) hidden++
      if (hidden > 0) return
      write('texto')
      if (known[tag] !== undefined && (tag === 'emit' || tag === 'dest')) text.add(`${nameOf(tag)}:\n`)
      for (const [name, given] of Object.entries(attributes))
        if (!/^xmlns|:/.test(name) && given.trim() !== '') text.add(`${name}: ${given.slice(0, longestValue)}\n`)
    },
    text(given) {
      if (hidden === 0 && value.length < longestValue) value += given
    },
    close(tag) {
      if (unread.has(tag)) hidden--
      else if (hidden === 0) write(tag)
    },
  })
  parser.write(xml)
  parser.end()
  return text.parts()
}

function addRoot(tag: string, text: TextCollector): void {
  const name = fiscal[tag.toLowerCase()]
  if (name !== undefined) text.add(`${name}\n`)
}

const nameOf = (tag: string): string => (known[tag] === undefined ? tag : `${known[tag]} (${tag})`)
