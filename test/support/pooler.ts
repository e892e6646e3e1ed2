/**
 * A real PgBouncer before a database, where one is installed (`pgbouncer` on the PATH, or RETOMA_TEST_PGBOUNCER naming
 * it). It speaks on a socket in a folder of its own and ends with its test.
 */
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { serverAccount, thisPlatform } from '../../src/embedded-postgres/platform/platform.ts'
import { asUserWithView, begin, self } from '../../src/embedded-postgres/platform/run-as-user.ts'

/** undefined: none is installed. Debian keeps it where an ordinary user's PATH does not look. */
export const pgbouncer =
  process.env.RETOMA_TEST_PGBOUNCER ??
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].map(folder => join(folder, 'pgbouncer')).find(isProgram)

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Pooler {
  readonly url: string
  /** What it has written to its log. */
  readonly said: () => string
}

/** `sessions`: how many sessions of PostgreSQL it shares out. */
export async function poolerTo(
  url: string,
  options: { mode?: 'transaction' | 'session'; sessions?: number; settings?: string[] } = {},
): Promise<Pooler> {
  const { mode = 'transaction', sessions = 2, settings = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'pgb-'))
  const server = new URL(url)
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${server.searchParams.get('host')} port=${server.port} user=${server.username}`,
    '[pgbouncer]',
    `unix_socket_dir = ${folder}`,
    'auth_type = any',
    `pool_mode = ${mode}`,
    `default_pool_size = ${sessions}`,
    'max_client_conn = 200',
    ...settings,
  ]
  await writeFile(file, lines.join('\n'))
  await chmod(folder, 0o777)
  const platform = thisPlatform()
  // Like PostgreSQL it does not run as root.
  const runner = platform.uid === 0 ? await asUserWithView(serverAccount(), platform) : self(platform)
  // As root the server's socket is that of another user, below a folder of root's.
  const needs = [server.searchParams.get('host')!]
  const child = begin(runner, pgbouncer!, [file], { stdio: ['ignore', 'ignore', 'pipe'], needs })
  const ended = once(child, 'close')
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr!.on('data', chunk => {
      said += chunk
      if (said.includes('process up')) resolve()
    })
    child.once('error', reject)
    void ended.then(() => reject(new Error(said)))
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const pooled = new URL(url)
  pooled.port = '6432'
  pooled.searchParams.set('host', folder)
  return { url: pooled.href, said: () => said }
}
