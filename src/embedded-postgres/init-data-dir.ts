/**
 * Creates the data of a new server. open calls this if the data folder has no data yet.
 *
 * Invariant: the data appears whole, by a rename, or not at all. If two processes create the data at once, the first rename wins and the
 * other process deletes its own copy.
 */
import { open, readdir, rename } from 'node:fs/promises'
import { basename } from 'node:path'
import { localized, RetomaError } from '../errors/errors.ts'
import { type DataDir, makeServerFolder, ownFolder, serverFolder } from './data-dir.ts'
import { inFolder, readOwn } from './data-dir-files.ts'
import { program } from './find-binaries.ts'
import { newInitTempDir, removeAbandoned, removeInitTempDir } from './init-temp-dir.ts'
import { run } from './platform/run-as-user.ts'
import { folderError, serverError } from './server-errors.ts'

/** Written into postgresql.conf once, where a user may tune the values. Settings that must hold are on the command line (launch-server.ts). */
const settings = {
  max_connections: '100',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_line_prefix: '%m [%p] ',
  // Errors of statements reach the client, which logs the errors; the rest is little, so the file stays small.
  log_min_messages: 'log',
  log_checkpoints: 'off',
}

export async function isMade(dataDir: DataDir): Promise<boolean> {
  const read = () => readOwn(serverFolder(dataDir, dataDir.data), 'PG_VERSION')
  const version = await read().catch(
    unlessMissing(async () => {
      const files = await readdir(dataDir.data).catch(unlessMissing(() => []))
      if (files.length === 0) return undefined
      // Another process may have moved data there after the first read.
      const late = await read().catch(unlessMissing(() => undefined))
      if (late !== undefined) return late
      throw new RetomaError('data_unreadable', {
        folder: dataDir.folder,
        problem: localized(
          `${dataDir.data} has files, but no PostgreSQL data`,
          `${dataDir.data} tem arquivos, mas nenhum dado do PostgreSQL`,
        ),
      })
    }),
  )
  const found = version?.trim()
  if (found !== undefined && found !== dataDir.binaries.major)
    throw new RetomaError('data_other_major', { folder: dataDir.folder, found, expected: dataDir.binaries.major })
  return found !== undefined
}

export async function makeData(dataDir: DataDir, options: { sync: boolean }): Promise<void> {
  await removeAbandoned(dataDir)
  const draft = newInitTempDir(dataDir.folder)
  try {
    await makeServerFolder(dataDir, draft)
    const args = [
      ...['-D', draft, '-U', 'retoma', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions'],
      ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ...(options.sync ? [] : ['--no-sync']),
    ]
    const { code, output } = await run(dataDir.runner, program(dataDir.binaries, 'initdb'), args, [draft])
    if (code !== 0) throw await initTrouble(dataDir, output)
    await writeHba(dataDir, draft)
    await inFolder(ownFolder(dataDir), at =>
      rename(`${at}/${basename(draft)}`, `${at}/${basename(dataDir.data)}`),
    ).catch(unlessTaken)
    if (options.sync) await syncFolder(dataDir.folder)
  } catch (error) {
    throw folderError(dataDir.folder, error)
  } finally {
    await removeInitTempDir(dataDir, draft)
  }
}

const hba = '# The socket lies in a folder only its owner may enter.\nlocal all all trust\n'

/** Run as the owner of the folder: a file written by root could be a link to another place. */
async function writeHba({ runner }: DataDir, draft: string): Promise<void> {
  const script = 'printf %s "$1" > "$2/pg_hba.conf"'
  const { code, output } = await run(runner, 'sh', ['-c', script, 'sh', hba, draft], [draft])
  if (code !== 0) throw new Error(output.trim())
}

async function initTrouble(dataDir: DataDir, output: string): Promise<RetomaError> {
  const nameless = /could not look up effective user ID (\d+)/.exec(output)
  if (!nameless) return serverError(dataDir, 'initialise', output)
  return serverError(
    dataDir,
    'initialise',
    localized(
      `this user (uid ${nameless[1]}) has no name in /etc/passwd, which PostgreSQL needs; add a line for it, or set DATABASE_URL`,
      `este usuário (uid ${nameless[1]}) não tem nome em /etc/passwd, e o PostgreSQL precisa de um; acrescente uma linha para ele, ou defina DATABASE_URL`,
    ),
  )
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}

function unlessMissing<T>(otherwise: () => T): (error: NodeJS.ErrnoException) => T {
  return error => {
    if (error.code === 'ENOENT') return otherwise()
    throw error
  }
}

function unlessTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
}
