/** `retoma init`: a config with one job and a test for it, and what to type next. Overwrites nothing. */
import { access, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Command } from 'commander'
import { RetomaError } from '../../errors.ts'
import { configNames } from '../config.ts'
import type { Context } from '../context.ts'
import type { Cli } from '../program.ts'
import { table } from '../table.ts'
import { firstConfig, firstTest } from '../templates.ts'

export function initCommand(program: Command, cli: Cli): void {
  program.command('init').description(cli.voice.word.help.init).action(cli.action(init))
}

async function init({ voice, folder }: Context): Promise<void> {
  const runner = (await usesVitest(folder)) ? 'vitest' : 'node:test'
  const files = { 'retoma.config.ts': firstConfig, 'hello.test.ts': firstTest(runner) }
  const names = Object.keys(files)
  // Another form of config would be in the way of ours, or ours of it.
  for (const file of new Set([...configNames, ...names])) {
    if (await exists(join(folder, file))) throw new RetomaError('file_exists', { file })
  }
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(folder, file), text, { flag: 'wx' }).catch((error: Error) => {
      throw new RetomaError('bad_config', { file, problem: error.message }, { cause: error })
    })
  }

  const { init } = voice.word
  const next = nextCommands(folder, runner)
  const steps = next.map(({ command, does }) => [`  ${command}`, `# ${init[does]}`])
  voice.answer({ wrote: names, next: next.map(step => step.command) }, [
    ...names.map(init.wrote),
    '',
    init.next,
    ...table(['', ''], steps).slice(1),
  ])
}

interface Step {
  command: string
  does: 'install' | 'start' | 'enqueue' | 'test'
}

function nextCommands(folder: string, runner: string): Step[] {
  const isInstalled = resolves('retoma', folder)
  const byNode = `node --import ${loader(folder, isInstalled)} --test hello.test.ts`
  return [
    ...(isInstalled ? [] : [{ command: 'npm install retoma', does: 'install' } as const]),
    { command: 'npx retoma up', does: 'start' },
    { command: `npx retoma jobs enqueue hello '{"name":"Ana"}' --wait`, does: 'enqueue' },
    { command: runner === 'vitest' ? 'npx vitest run hello.test.ts' : byNode, does: 'test' },
  ]
}

/** Node 20 runs no TypeScript. Our loader lies beside us, but not every package manager lets the folder see it by name. */
function loader(folder: string, isInstalled: boolean): string {
  return !isInstalled || resolves('jiti', folder) ? 'jiti/register' : import.meta.resolve('jiti/register')
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
