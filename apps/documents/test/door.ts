/** The routes of the documents over an engine on the virtual clock; PDFs are read at once, without a process of their own, and have no picture. */
import { doorWith } from '../../../test/http/support.ts'
import { workOn } from '../../../test/support/application.ts'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { type DocumentsOptions, documents } from '../index.ts'
import type { PdfReader } from '../pdf/reader.ts'

/** Answers without reading: a page with the text that the file has after its last line. */
export const readAtOnce: PdfReader = async (_ctx, _path, name) => ({
  pages: 1,
  title: name,
  text: `o texto de ${name} com um aviso para os que não leem`,
  isComplete: true,
})

/** The options of a door besides those of the documents. */
type More = Omit<Parameters<typeof doorWith>[1] & object, 'systems' | 'app'>

export async function documentsDoor(options: DocumentsOptions = {}, more: More = {}) {
  const system = documents({ settings: { concurrency: 16 }, read: readAtOnce, draw: async () => null, ...options })
  const door = await doorWith([], { systems: [system], ...more, app: { routes: system.routes, cronSecret } })
  const { ask, fetch } = door

  const upload = uploader(fetch)

  return {
    ...door,
    system,
    upload,
    work: () => workOn(door),
    /** Asks as a user. */
    as: (user: string, method: string, path: string) => ask(method, path, { headers: headersOf({ user }) }),
    /** Uploads a good PDF of its own bytes. Returns the id. */
    send: async (given: Sent = {}): Promise<string> =>
      (await upload(goodPdf(`Documento ${given.name ?? ''} ${unique()}`), given)).body.id,
    read: async (id: string, given: Sent = {}) =>
      (await ask('GET', `/api/documents/${id}`, { headers: headersOf(given) })).body,
    list: async (query = '', given: Sent = {}) =>
      (await ask('GET', `/api/documents${query}`, { headers: headersOf(given) })).body,
  }
}

/** Sends a file as a form. */
export const uploader =
  (fetch: (request: Request) => Promise<Response>) =>
  async (bytes: Uint8Array | string, given: Sent = {}) => {
    const form = new FormData()
    const { name = 'contrato.pdf', type = 'application/pdf' } = given
    form.set('file', new File([bytes as Uint8Array<ArrayBuffer>], name, { type }))
    const request = { method: 'POST', body: form, headers: headersOf(given) }
    const response = await fetch(new Request('http://127.0.0.1:3000/api/documents', request))
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }

export const cronSecret = 'cron-secret-0123456789abcdef'

export interface Sent {
  name?: string
  type?: string
  /** The user, on a server without tokens. */
  user?: string
  token?: string
  headers?: Record<string, string>
}

const headersOf = ({ user, token, headers = {} }: Sent): Record<string, string> => ({
  'accept-language': 'pt',
  ...(user === undefined ? {} : { 'x-user-id': user }),
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...headers,
})

let made = 0
const unique = () => `n.º ${++made}`
