/**
 * Makes the data of a new server. Called by open when the data folder has none yet.
 *
 * Invariant: the data appears whole, by a rename, or not at all; of two processes that make it at once one wins and the
 * other throws its own away.
 */
import { chown, mkdir, open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RetomaError, say } from '../errors.ts'
import { newDraft, removeAbandoned, removeDraft } from './draft.ts'
import { program } from './find.ts'
import type { Home } from './home.ts'
import { run } from './privilege.ts'
import { folderTrouble, serverTrouble } from './trouble.ts'

/** Written into postgresql.conf once; there a user may tune them. What must hold is on the command line (start.ts). */
const settings = {
  max_connections: '100',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_line_prefix: '%m [%p] ',
  // Errors of statements reach the client, who logs them; what is left is little, so the file stays small.
  log_min_messages: 'log',
  log_checkpoints: 'off',
}

export async function isMade(home: Home): Promise<boolean> {
  const version = await readFile(join(home.data, 'PG_VERSION'), 'utf8').catch(
    unlessMissing(async () => {
      const files = await readdir(home.data).catch(unlessMissing(() => []))
      if (files.length === 0) return undefined
      throw new RetomaError('data_unreadable', {
        folder: home.folder,
        problem: say(
          `${home.data} has files, but no PostgreSQL data`,
          `${home.data} tem arquivos, mas nenhum dado do PostgreSQL`,
        ),
      })
    }),
  )
  const found = version?.trim()
  if (found !== undefined && found !== home.binaries.major)
    throw new RetomaError('data_other_major', { folder: home.folder, found, expected: home.binaries.major })
  return found !== undefined
}

export async function makeData(home: Home, options: { sync: boolean }): Promise<void> {
  await removeAbandoned(home.folder)
  const draft = newDraft(home.folder)
  try {
    await mkdir(draft, { mode: 0o700 })
    if (home.runner.as === 'user') await chown(draft, home.runner.uid, home.runner.gid)
    const { code, output } = await run(home.runner, program(home.binaries, 'initdb'), [
      ...['-D', draft, '-U', 'retoma', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions'],
      ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ...(options.sync ? [] : ['--no-sync']),
    ])
    if (code !== 0) throw await initTrouble(home, output)
    await writeFile(
      join(draft, 'pg_hba.conf'),
      '# The socket lies in a folder only its owner may enter.\nlocal all all trust\n',
    )
    await rename(draft, home.data).catch(unlessTaken)
    if (options.sync) await syncFolder(home.folder)
  } catch (error) {
    throw folderTrouble(home.folder, error)
  } finally {
    await removeDraft(draft)
  }
}

async function initTrouble(home: Home, output: string): Promise<RetomaError> {
  const nameless = /could not look up effective user ID (\d+)/.exec(output)
  if (!nameless) return serverTrouble(home, 'initialise', output)
  return serverTrouble(
    home,
    'initialise',
    say(
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
