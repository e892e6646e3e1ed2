/** Uploads, lists, shows, reprocesses, downloads and erases documents. */
import { type FileView, isRetomaError, type JobTransaction } from 'retoma'
import { type Call, download, once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { isId } from '../document-id.ts'
import { type Documents, eraseDocument, makeDocument, reprocess } from '../documents.ts'
import { eraseJob } from '../erase-job.ts'
import { errors } from '../errors.ts'
import { documentLimit } from '../limits.ts'
import { ownerOf } from '../owner.ts'
import { listDocuments, readDocument, readFiles, readText } from '../store/documents.ts'
import { largestFile, leaveFile, receiveFile } from '../upload.ts'
import { document, documentWire, status } from '../wire.ts'
import { emptyIsAbsent, idParams, noDocument, pageFrom, pageOf, pageQuery, placeOf, tag } from './shared.ts'

async function fileOf({ engine, who, params: { id } }: Call<{ id: string }>, which: 'file' | 'thumbnail') {
  const files = isId(id) ? await readFiles(engine, id, ownerOf(who)) : undefined
  const file = files?.[which] ?? null
  const opened = file === null ? null : await engine.files.open(file)
  if (opened === null) throw noDocument(id)
  return opened
}

export const documentRoutes = (documents: Documents): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/documents',
    name: 'uploadDocument',
    tag,
    summary: 'Creates a document from a PDF; the response comes before the processing begins',
    role: 'operator',
    limit: documentLimit,
    upload: {
      files: ['file'],
      required: ['file'],
      mostFiles: 1,
      // The limit of the form parser does not name the file; our own error does.
      largestFile: largestFile + 1,
    },
    answer: z.object({ id: z.string(), status, duplicate_of: z.string().nullable() }),
    status: 202,
    makes: 'exactly',
    errors: ['not_found', errors.upload_too_large, errors.upload_not_pdf],
    async run(call) {
      const { engine, who, upload } = call
      const file = await receiveFile(engine, upload!)
      const make = async (tx: JobTransaction) => {
        const { size, sha256, name: filename } = file
        const made = await makeDocument(engine, tx, documents, {
          user: who.user,
          filename,
          size,
          sha256,
          file: file.id,
        })
        return { status: 202, value: { id: made.id, status: made.status, duplicate_of: made.duplicateOf } }
      }
      try {
        return await once(call, make, { digest: digestOf(file), left: () => leaveFile(engine, file) })
      } catch (error) {
        // The request was refused, so nothing was created. After a 5xx the file may belong to a document: the janitor can decide.
        if (isRetomaError(error) && error.status < 500) await leaveFile(engine, file)
        throw error
      }
    },
  }),
  route({
    method: 'get',
    path: '/api/documents',
    name: 'listUserDocuments',
    tag,
    summary: 'Lists the documents of the user, the newest first; an admin sees the documents of all users',
    role: 'viewer',
    query: z.strictObject({
      status: emptyIsAbsent(status),
      q: z.string().max(200).optional().meta({
        description: 'words of the name, the title or the text, with or without accents; "a phrase" in quotes',
      }),
      ...pageQuery,
    }),
    answer: pageOf(document),
    heavy: true,
    async run({ engine, who, query: { status = null, q = '', after, limit } }) {
      const words = q.trim() === '' ? null : q
      const given = { owner: ownerOf(who), after: placeOf(after), status, words, limit: limit + 1 }
      const { items, next } = pageFrom(await listDocuments(engine, given), limit)
      return { items: items.map(documentWire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/documents/{id}',
    name: 'getDocument',
    tag,
    summary: 'Gets a document with status and facts of the file',
    role: 'viewer',
    params: idParams,
    answer: document,
    errors: ['not_found'],
    async run({ engine, who, params: { id } }) {
      const found = isId(id) ? await readDocument(engine, id, ownerOf(who)) : undefined
      if (found === undefined) throw noDocument(id)
      return documentWire(found)
    },
  }),
  route({
    method: 'get',
    path: '/api/documents/{id}/text',
    name: 'getDocumentText',
    tag,
    summary: 'Gets the text of a document',
    role: 'viewer',
    params: idParams,
    answers: 'text/plain',
    errors: ['not_found'],
    heavy: true,
    async run({ engine, who, headers, params: { id } }) {
      const text = isId(id) ? await readText(engine, id, ownerOf(who)) : undefined
      if (text === undefined || text === null) throw noDocument(id)
      headers.set('content-type', 'text/plain; charset=utf-8')
      return new Response(text, { headers })
    },
  }),
  route({
    method: 'get',
    path: '/api/documents/{id}/download',
    name: 'downloadUserDocument',
    tag,
    summary: 'Downloads a document as it was sent, or a part of the file with Range',
    role: 'viewer',
    params: idParams,
    answers: 'application/octet-stream',
    ranges: true,
    errors: ['not_found'],
    run: async call => download(await fileOf(call, 'file'), call.request),
  }),
  route({
    method: 'get',
    path: '/api/documents/{id}/thumbnail',
    name: 'getDocumentThumbnail',
    tag,
    summary: 'Gets a picture of the first page (WebP)',
    role: 'viewer',
    params: idParams,
    answers: 'application/octet-stream',
    ranges: true,
    errors: ['not_found'],
    run: async call => download(await fileOf(call, 'thumbnail'), call.request),
  }),
  route({
    method: 'post',
    path: '/api/documents/{id}/reprocess',
    name: 'reprocessDocument',
    tag,
    summary: 'Processes a document again; a waiting or running document stays as it is',
    role: 'operator',
    limit: documentLimit,
    params: idParams,
    answer: z.object({ id: z.string(), status }),
    status: 202,
    makes: 'exactly',
    errors: ['not_found'],
    async run(call) {
      const { engine, who, params } = call
      const { id } = params
      let replaced: string | null = null
      const response = await once(call, async tx => {
        const found = isId(id) ? await reprocess(engine, tx, documents, { id, owner: ownerOf(who) }) : undefined
        if (found === undefined) throw noDocument(id)
        replaced = found.replaced
        return { status: 202, value: { id, status: found.status } }
      })
      if (replaced !== null) await eraseJob(engine, replaced).catch(() => {})
      return response
    },
  }),
  route({
    method: 'delete',
    path: '/api/documents/{id}',
    name: 'eraseDocument',
    tag,
    summary: 'Erases a document: file, text, picture, steps, failures and events',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, who, params: { id } }) {
      if (!isId(id) || !(await eraseDocument(engine, id, ownerOf(who)))) throw noDocument(id)
    },
  }),
]

const digestOf = ({ name, sha256 }: FileView): string => JSON.stringify([name, sha256])
