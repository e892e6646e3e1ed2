/** The routes of the documents over an engine on the virtual clock; PDFs are read at once, without a process of their own. */
import { doorWith } from '../../../test/http/support.ts'
import { timePasses } from '../../../test/support/engine.ts'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { type DocumentsOptions, documents } from '../index.ts'
import type { PdfReader } from '../pdf/reader.ts'

/** Answers without reading: a page with the text that the file has after its last line. */
const readAtOnce: PdfReader = async (_ctx, _path, name) => ({
  pages: 1,
  title: name,
  text: `o texto de ${name} com um aviso para os que não leem`,
  isComplete: true,
})

/** The options of a door besides those of the documents. */
type More = Omit<Parameters<typeof doorWith>[1] & object, 'systems' | 'app'>

export async function documentsDoor(options: DocumentsOptions = {}, more: More = {}) {
  const system = documents({ settings: { concurrency: 16 }, read: readAtOnce, ...options })
  const door = await doorWith([], { systems: [system], ...more, app: { routes: system.routes, cronSecret } })
  const { ask, clock, run, fetch } = door

  /** Sends a request with a form. */
  async function upload(bytes: Uint8Array | string, given: Sent = {}) {
    const form = new FormData()
    form.set(
      'file',
      new File([bytes as Uint8Array<ArrayBuffer>], given.name ?? 'contrato.pdf', {
        type: given.type ?? 'application/pdf',
      }),
    )
    const request = new Request('http://127.0.0.1:3000/api/documents', {
      method: 'POST',
      body: form,
      headers: headersOf(given),
    })
    const response = await fetch(request)
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }

  return {
    ...door,
    system,
    upload,
    /** Works until no job is ready, while time passes. */
    async work(): Promise<void> {
      let over = false
      const running = run().finally(() => {
        over = true
      })
      await timePasses(clock, () => over)
      await running
    },
    /** Uploads a good PDF of its own bytes. Returns the id. */
    send: async (given: Sent = {}): Promise<string> =>
      (await upload(goodPdf(`Documento ${given.name ?? ''} ${unique()}`), given)).body.id,
    read: async (id: string, given: Sent = {}) =>
      (await ask('GET', `/api/documents/${id}`, { headers: headersOf(given) })).body,
    list: async (query = '', given: Sent = {}) =>
      (await ask('GET', `/api/documents${query}`, { headers: headersOf(given) })).body,
  }
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
