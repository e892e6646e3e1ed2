/**
 * Launches the server process. start-server.ts calls this and waits for the server to answer.
 *
 * The process is started directly and not by pg_ctl, which hands paths to a shell unquoted and checks only ten times a second. The
 * process has a session of its own: Ctrl-C in the terminal goes to Retoma, which stops the server in order; a killed Retoma leaves the
 * server running.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, rename } from 'node:fs/promises'
import { localized, RetomaError } from '../errors/errors.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { port } from './connect-probe.ts'
import { type DataDir, makeServerFolder, ownFolder } from './data-dir.ts'
import { inFolder, openOwn } from './data-dir-files.ts'
import { program } from './find-binaries.ts'
import { isMade } from './init-data-dir.ts'
import { begin } from './platform/run-as-user.ts'
import { folderError, type Words } from './server-errors.ts'

export interface Launch {
  readonly pid: number | undefined
  readonly ended: boolean
  /** The log lines of the server since the launch, or the reason of the end. */
  said(): Promise<Words>
  /** Stops the server now and resolves at the end of the process; committed data is safe. */
  takeBack(): Promise<void>
}

const largestLog = 1_000_000
const takeBackMs = 10_000
const mostSaid = 1_000_000

export async function launch(dataDir: DataDir, fsync: boolean): Promise<Launch> {
  try {
    // A restarted server must not create a removed folder again, empty.
    if (!(await isMade(dataDir)))
      throw new RetomaError('data_unreadable', {
        folder: dataDir.folder,
        problem: localized('its data was removed', 'os dados dela foram removidos'),
      })
    await prepareSocket(dataDir)
    const log = await openLog(dataDir)
    const before = (await log.stat()).size
    const args = ['-D', dataDir.data, ...serverOptions(dataDir, fsync)]
    const child = begin(dataDir.runner, program(dataDir.binaries, 'postgres'), args, {
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
      needs: [dataDir.data, dataDir.socket],
    })
    let ended: Words = ''
    const end = new Promise<void>(resolve => {
      child.on('exit', (code, signal) => {
        ended = signal
          ? localized(`ended with ${signal}`, `terminou com ${signal}`)
          : localized(`ended with code ${code}`, `terminou com o código ${code}`)
        resolve()
      })
      child.on('error', error => {
        ended = error.message
        resolve()
      })
    })
    child.unref()
    await log.close()
    return {
      pid: child.pid,
      get ended() {
        return ended !== ''
      },
      said: async () => (await logSince(dataDir, before)) || ended,
      takeBack: async () => {
        if (ended) return
        child.ref()
        // A server ends the helper processes first, and after 5 s kills helpers that do not react.
        child.kill('SIGQUIT')
        await withDeadline(end, takeBackMs, () => new Error('it does not end')).catch(() => child.kill('SIGKILL'))
      },
    }
  } catch (error) {
    throw folderError(dataDir.folder, error)
  }
}

/** Settings that must hold regardless of postgresql.conf. */
function serverOptions(dataDir: DataDir, fsync: boolean): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '',
    port: String(port),
    unix_socket_directories: `"${dataDir.socket.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    logging_collector: 'off',
    // Without "$user": the user has the same name as Retoma's schema, and new tables of any user would land among Retoma's tables.
    search_path: 'public',
    ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** The folder grants trust: only the owner may enter the folder. A folder created by another user is refused. */
async function prepareSocket(dataDir: DataDir): Promise<void> {
  const { uid } = dataDir.runner
  await makeServerFolder(dataDir, dataDir.socket).catch(error => {
    // A link or a file is there: reported below.
    if (!['ELOOP', 'ENOTDIR', 'EEXIST'].includes(error.code)) throw error
  })
  const found = await lstat(dataDir.socket)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new RetomaError('data_unreadable', {
      folder: dataDir.folder,
      problem: localized(
        `the folder of its socket, ${dataDir.socket}, is not private to uid ${uid}`,
        `a pasta do socket, ${dataDir.socket}, não é só do uid ${uid}`,
      ),
    })
}

const logName = 'postgres.log'

/** Renames a large log first; the previous renamed log is deleted. */
async function openLog(dataDir: DataDir): Promise<FileHandle> {
  const folder = ownFolder(dataDir)
  const log = await openForAppend(dataDir)
  if ((await log.stat()).size <= largestLog) return log
  await log.close()
  await inFolder(folder, at => rename(`${at}/${logName}`, `${at}/${logName}.1`))
  return openForAppend(dataDir)
}

/** In a path of another user the log belongs to this user, who may be the next to start the server. */
async function openForAppend(dataDir: DataDir): Promise<FileHandle> {
  const { runner, owner } = dataDir
  const log = await openOwn(ownFolder(dataDir), logName, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT)
  if (runner.as === 'user' && owner.uid !== 0 && (await log.stat()).uid === 0) await log.chown(owner.uid, owner.gid)
  return log
}

async function logSince(dataDir: DataDir, from: number): Promise<string> {
  const log = await openOwn(ownFolder(dataDir), logName, constants.O_RDONLY)
  try {
    const { buffer, bytesRead } = await log.read(Buffer.alloc(mostSaid), 0, mostSaid, from)
    return buffer.subarray(0, bytesRead).toString('utf8').trim()
  } finally {
    await log.close()
  }
}
