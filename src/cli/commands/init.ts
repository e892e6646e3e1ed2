/**
 * `retoma init`: writes a config with a job and a test, and prints the next commands; for an existing database, also proposes guards for
 * its tables. Overwrites nothing, and changes nothing in the database.
 */
import { access, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { RetomaError } from '../../errors/errors.ts'
import type { GuardProposal } from '../../guards/model/guard-proposal.ts'
import type { Context } from '../command-context.ts'
import { table } from '../format/text-table.ts'
import { configNames } from '../load-config.ts'
import { asRetomaError } from '../output.ts'
import type { Cli } from '../program.ts'
import { dryRunCommand, firstConfig, firstTest } from './init-templates.ts'

export function initCommand(program: Command, cli: Cli): void {
  program.command('init').description(cli.output.word.help.init).action(cli.action(init))
}

async function init(context: Context): Promise<void> {
  const { output, folder } = context
  const runner = (await usesVitest(folder)) ? 'vitest' : 'node:test'
  const names = ['retoma.config.ts', 'hello.test.ts']
  // A config of another file type would shadow the new config, or the new config the old.
  for (const file of new Set([...configNames, ...names])) {
    if (await exists(join(folder, file))) throw new RetomaError('file_exists', { file })
  }
  const guards = await proposals(context)
  const files = { 'retoma.config.ts': firstConfig(guards), 'hello.test.ts': firstTest(runner) }
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(folder, file), text, { flag: 'wx' }).catch((error: Error) => {
      throw new RetomaError('bad_config', { file, problem: error.message }, { cause: error })
    })
  }

  const { init } = output.word
  const next = nextCommands(folder, runner, await packageManager(folder))
  const dryRuns = guards.map(dryRunCommand)
  const steps = next.map(({ command, does }) => [`  ${command}`, `# ${init[does]}`])
  output.answer({ wrote: names, guards, next: [...next.map(step => step.command), ...dryRuns] }, [
    ...names.map(init.wrote),
    '',
    init.next,
    ...table(['', ''], steps).slice(1),
    ...(dryRuns.length > 0 ? ['', init.guards, ...dryRuns.map(command => `  ${command}`)] : []),
  ])
}

/** If the existing database does not respond, the config is written without guards. */
async function proposals({ settings, output, log }: Context): Promise<GuardProposal[]> {
  if (settings.DATABASE_URL === undefined) return []
  try {
    const { proposeGuards } = await import('../../maintenance/index.ts')
    return await proposeGuards(settings.DATABASE_URL, log, settings.RETOMA_SCHEMA)
  } catch (error) {
    output.note(output.word.init.noGuards(asRetomaError(error).in(output.language)))
    return []
  }
}

interface Step {
  command: string
  does: 'install' | 'start' | 'enqueue' | 'test'
}

function nextCommands(folder: string, runner: string, { install, run, node }: PackageManager): Step[] {
  const isInstalled = resolves('retoma', folder)
  const byNode = `${node} --import retoma/register --test hello.test.ts`
  return [
    ...(isInstalled ? [] : [{ command: `${install} retoma`, does: 'install' } as const]),
    { command: `${run} retoma up`, does: 'start' },
    { command: `${run} retoma jobs enqueue hello '{"name":"Ana"}' --wait`, does: 'enqueue' },
    { command: runner === 'vitest' ? `${run} vitest run hello.test.ts` : byNode, does: 'test' },
  ]
}

interface PackageManager {
  install: string
  run: string
  /** Starts Node so that packages are found. */
  node: string
}

const npm: PackageManager = { install: 'npm install', run: 'npx', node: 'node' }
const pnpm: PackageManager = { install: 'pnpm add', run: 'pnpm exec', node: 'node' }
/** `yarn node` also finds packages that Yarn keeps in archives. */
const yarn: PackageManager = { install: 'yarn add', run: 'yarn', node: 'yarn node' }

/** The package manager whose lockfile is nearest, in this folder or a folder above; else the package manager that runs this command. */
async function packageManager(folder: string): Promise<PackageManager> {
  const lockfiles = { 'package-lock.json': npm, 'pnpm-lock.yaml': pnpm, 'yarn.lock': yarn }
  for (let at = folder; ; at = dirname(at)) {
    for (const [file, manager] of Object.entries(lockfiles)) if (await exists(join(at, file))) return manager
    if (dirname(at) === at) break
  }
  const agent = process.env.npm_config_user_agent ?? ''
  return agent.startsWith('pnpm') ? pnpm : agent.startsWith('yarn') ? yarn : npm
}

function resolves(name: string, folder: string): boolean {
  try {
    createRequire(join(folder, 'retoma.config.ts')).resolve(name)
    return true
  } catch {
    return false
  }
}

async function usesVitest(folder: string): Promise<boolean> {
  const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '')
  return /"vitest"\s*:/.test(manifest)
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
