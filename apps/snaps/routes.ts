/** The routes of the snaps: send, list, show, download, erase. */
import { type Engine, isRetomaError, type JobTransaction, localized, RetomaError } from 'retoma'
import { type Call, download, once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from './errors.ts'
import { largestFile } from './image/index.ts'
import { eraseSnap, makeSnap, type Snaps } from './snaps.ts'
import { listSnaps, type NewSnap, readSnap, readSnapFile, type SnapRow } from './store/snaps.ts'
import { listedSnap, listedWire, snap, snapWire, status } from './wire.ts'

const tag = 'snaps'
const idParams = z.object({ id: z.string() })

/** Any other text is no id. */
const isId = (id: string): boolean => /^[1-9]\d{0,17}$/.test(id)

const noSnap = (id: string) => new RetomaError('not_found', { what: localized('snap', 'snap'), id })

const refuse = (field: string, en: string, pt: string) =>
  new RetomaError('bad_request', { field, problem: localized(en, pt) })

async function snapOf(engine: Engine, id: string): Promise<SnapRow> {
  const found = isId(id) ? await readSnap(engine, id) : undefined
  if (found === undefined) throw noSnap(id)
  return found
}

/** The start of a page; `order` decides the start of the first page. */
function placeOf(after: string | undefined, order: 'oldest' | 'newest'): string {
  if (after === undefined) return order === 'oldest' ? '0' : '9223372036854775807'
  if (isId(after)) return after
  throw refuse('after', 'it is the next of an earlier list', 'é o next de uma lista anterior')
}

/** Receives the image into PostgreSQL. A refused or broken-off request leaves no file. */
async function received({ engine, upload }: Pick<Call, 'engine' | 'upload'>): Promise<NewSnap> {
  let snap: NewSnap | undefined
  try {
    for await (const { file } of upload!) {
      if (file === undefined) continue
      const { name, type, bytes } = file
      const { id, size, sha256 } = await engine.files.put(bytes, { name, type, most: largestFile }).catch(error => {
        throw tooLarge(error, name)
      })
      snap = { file: id, name, type, size, sha256 }
    }
    if (snap === undefined) throw refuse('image', 'it is missing', 'está faltando')
    if (snap.size === 0) throw refuse('image', 'the file is empty', 'o arquivo está vazio')
    return snap
  } catch (error) {
    if (snap !== undefined) await leave(engine, snap)
    throw error
  }
}

const tooLarge = (error: unknown, name: string) =>
  isRetomaError(error, 'file_too_large')
    ? new RetomaError(errors.snap_too_large, { name, megabytes: largestFile / 1024 / 1024 })
    : error

/** Removes the received file. The janitor removes a file that cannot be removed now. */
async function leave(engine: Engine, { file }: NewSnap): Promise<void> {
  await engine.files.remove([file]).catch(() => {})
}

async function createSnap(call: Call, snaps: Snaps): Promise<Response> {
  const { engine, who } = call
  const snap = await received(call)
  const make = async (tx: JobTransaction) => ({
    status: 202,
    value: { id: await makeSnap(engine, tx, snaps, snap, who.user) },
  })
  try {
    return await once(call, make, {
      digest: JSON.stringify([snap.name, snap.sha256]),
      left: () => leave(engine, snap),
    })
  } catch (error) {
    // The request was refused, so nothing was created. After a 5xx the file may belong to a snap: the janitor can decide.
    if (isRetomaError(error) && error.status < 500) await leave(engine, snap)
    throw error
  }
}

export const routesOf = (snaps: Snaps): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/snaps',
    name: 'createSnap',
    tag,
    summary: 'Creates a snap from an image: the field `image` of a form, or the body itself',
    role: 'operator',
    upload: {
      files: ['image', 'file'],
      mostFiles: 1,
      // The limit of the form parser does not name the file; our own error does.
      largestFile: largestFile + 1,
      whole: ['image/*', 'application/octet-stream'],
    },
    answer: z.object({ id: z.string() }),
    status: 202,
    makes: 'exactly',
    errors: ['not_found', errors.snap_too_large],
    run: call => createSnap(call, snaps),
  }),
  route({
    method: 'get',
    path: '/api/snaps',
    name: 'listSnaps',
    tag,
    summary: 'Lists snaps, the oldest first',
    role: 'viewer',
    query: z.strictObject({
      status: status.optional(),
      order: z.enum(['oldest', 'newest']).default('oldest'),
      limit: z.coerce.number().int().min(1).max(500).default(50),
      after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
    }),
    answer: z.object({ items: z.array(listedSnap), next: z.string().nullable() }),
    heavy: true,
    async run({ engine, query: { status = null, order, after, limit } }) {
      const found = await listSnaps(engine, { order, after: placeOf(after, order), status, limit: limit + 1 })
      const items = found.slice(0, limit)
      return { items: items.map(listedWire), next: found.length > limit ? items.at(-1)!.id : null }
    },
  }),
  route({
    method: 'get',
    path: '/api/snaps/{id}',
    name: 'getSnap',
    tag,
    summary: 'Gets a snap with status and measures',
    role: 'viewer',
    params: idParams,
    answer: snap,
    errors: ['not_found'],
    run: async ({ engine, params: { id } }) => snapWire(await snapOf(engine, id)),
  }),
  route({
    method: 'get',
    path: '/api/snaps/{id}/image',
    name: 'downloadSnap',
    tag,
    summary: 'Downloads the image as it was sent',
    role: 'viewer',
    params: idParams,
    answers: 'application/octet-stream',
    errors: ['not_found'],
    async run({ engine, params: { id } }) {
      const file = isId(id) ? await readSnapFile(engine, id) : undefined
      const opened = file === undefined ? null : await engine.files.open(file)
      if (opened === null) throw noSnap(id)
      return download(opened)
    },
  }),
  route({
    method: 'delete',
    path: '/api/snaps/{id}',
    name: 'eraseSnap',
    tag,
    summary: 'Erases a snap: image, measures, steps, failures and events; an unfinished snap is cancelled first',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, params: { id } }) {
      if (!isId(id) || !(await eraseSnap(engine, id))) throw noSnap(id)
    },
  }),
]
