/** The routes of the snaps over an engine on the virtual clock. The decoder runs in real time, in a process of its own. */
import { doorWith } from '../../../test/http/support.ts'
import { type SnapsOptions, snaps } from '../index.ts'
import { readSnapsSettings } from '../settings.ts'

export function formOf(bytes: Uint8Array, { name = 'foto.jpg', field = 'image' } = {}): FormData {
  const form = new FormData()
  form.append(field, new Blob([bytes as Uint8Array<ArrayBuffer>], { type: 'image/jpeg' }), name)
  return form
}

export async function snapsDoor(options: SnapsOptions = {}) {
  const system = snaps({ settings: readSnapsSettings({}), ...options })
  const door = await doorWith([], { systems: [system], app: { routes: system.routes } })
  const { ask, fetch, engine } = door
  const post = async (body: FormData | Uint8Array, headers: Record<string, string> = {}) => {
    const init = { method: 'POST', body: body as FormData, headers: { 'accept-language': 'pt', ...headers } }
    const response = await fetch(new Request('http://127.0.0.1:3000/api/snaps', init))
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
  }
  return {
    ...door,
    system,
    post,
    /** Returns the id. */
    send: async (bytes: Uint8Array, name?: string): Promise<string> =>
      (await post(formOf(bytes, name === undefined ? {} : { name }))).body.id,
    read: async (id: string) => (await ask('GET', `/api/snaps/${id}`)).body,
    sql: async <Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []) =>
      (await engine.query<Row>(text, values)).rows,
  }
}
