/**
 * Creates the documents, an application on the engine: users upload PDFs, and each PDF becomes pages, text, a title and a picture, or a
 * reason why not; and bank accounts with their transactions, through Open Finance. `documents()` returns the system for `systems` in a retoma.config, and needs only `retoma` and `retoma/http`.
 */
import type { Engine } from 'retoma'
import type { System } from 'retoma/http'
import { createDocuments } from './documents.ts'
import { errors } from './errors.ts'
import { createDocumentJob, type DocumentJobOptions, documentGuard, queue } from './jobs.ts'
import { type OpenFinanceOptions, openFinance } from './open-finance/index.ts'
import { pdfReader } from './pdf/reader.ts'
import { drawThumbnail } from './pdf/thumbnail.ts'
import { routesOf } from './routes/index.ts'
import { type DocumentsSettings, readDocumentsSettings } from './settings.ts'

export interface DocumentsOptions {
  /** Default: the variable DOCUMENTS_CONCURRENCY of the environment. */
  settings?: DocumentsSettings
  /** In place of the reader of PDFs, for tests. */
  read?: DocumentJobOptions['read']
  /** In place of the pictures of first pages, for tests. */
  draw?: DocumentJobOptions['draw']
  /** Default: the variables PLUGGY_* of the environment. */
  openFinance?: OpenFinanceOptions
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

/** PDFs at the same time in a worker process, unless --queues says otherwise. */
const perWorker = 4

export function documents(options: DocumentsOptions = {}): System {
  const { settings = readDocumentsSettings(), read = pdfReader() } = options
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the documents have no engine: call attach first')
    return home
  }
  const draw: DocumentJobOptions['draw'] = options.draw ?? ((ctx, path) => drawThumbnail(engine(), ctx, path))
  const all = createDocuments(createDocumentJob({ read, draw, engine }), documentGuard(), engine)
  const bank = openFinance(options.openFinance ?? {}, engine)
  return {
    name: 'documents',
    page: '/documentos/',
    migrations,
    jobs: [all.job, ...bank.jobs],
    schedules: [...all.schedules, ...bank.schedules],
    guards: [all.guard],
    limits: { [queue]: { concurrency: settings.concurrency }, ...bank.limits },
    queues: { [queue]: perWorker, ...bank.queues },
    routes: [...routesOf(all), ...bank.routes].map(route => ({ ...route, language: 'pt' as const })),
    errors,
    simulated: bank.simulated,
    attach: given => {
      home = given
    },
    attached: [all.job, ...all.schedules.map(({ job }) => job), ...bank.attached],
  }
}
