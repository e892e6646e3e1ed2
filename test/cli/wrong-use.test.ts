/** The message and the exit code of the built program after wrong use. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { version } from '../../src/version.ts'
import { folderWith, run } from './support.ts'

const pt = { LANG: 'pt_BR.UTF-8' }

test.each<[string[], Record<string, string>, string]>([
  [['stauts'], {}, 'error wrong_use: there is no command "stauts", did you mean "status"?\n'],
  [['stauts'], pt, 'erro wrong_use: não existe o comando "stauts", você quis dizer "status"?\n'],
  [['jobs', 'lst'], {}, 'error wrong_use: there is no command "lst", did you mean "list"?\n'],
  [['jobs', 'list', '--limt', '3'], {}, 'error wrong_use: there is no option --limt, did you mean "--limit"?\n'],
  [['zzzzzz'], {}, 'error wrong_use: there is no command "zzzzzz"; retoma --help lists them\n'],
  [['jobs', 'zzzzzz'], {}, 'error wrong_use: there is no command "zzzzzz"; retoma jobs --help lists them\n'],
  [['doctor', '--bundle=x'], {}, 'error wrong_use: the option --bundle takes no value\n'],
  [['doctor', '--zzzzzz=x'], {}, 'error wrong_use: there is no option --zzzzzz=x; --help lists them\n'],
  [['jobs', 'show'], pt, 'erro wrong_use: falta o argumento ID\n'],
  [['status', 'now'], {}, 'error wrong_use: too many arguments for status; text with spaces needs quotes around it\n'],
  [['jobs', 'list', '--state', 'runing'], {}, 'error wrong_use: there is no state "runing", did you mean "running"?\n'],
  [['jobs', 'list', '--limit'], {}, 'error wrong_use: the option --limit <n> needs a value\n'],
])('retoma %j exits 2', async (args, env, sentence) => {
  expect(await run(args, { folder: folderWith(), env })).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: sentence,
  })
})

test('with --json a mistake is a document on stdout as well', async () => {
  const { code, stdout, stderr } = await run(['--json', 'jobs', 'lst'], { folder: folderWith() })
  expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'wrong_use', message: expect.stringContaining('"list"') } })
})

test.each([['--version'], ['-v']])('with --json %s is a document', async flag => {
  const { code, stdout } = await run([flag, '--json'], { folder: folderWith() })
  expect({ code, answer: JSON.parse(stdout) }).toEqual({ code: 0, answer: { version } })
})

test.each(['--help', 'help', 'help jobs', 'jobs --help', 'jobs help list'])(
  'with --json the help of retoma %s is a document, without it the same text',
  async command => {
    const args = command.split(' ')
    const [document, text] = await Promise.all(
      [[...args, '--json'], args].map(each => run(each, { folder: folderWith() })),
    )
    expect(document).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(document!.stdout)).toEqual({ help: text!.stdout })
    expect(text!.stdout).toMatch(/^Usage: retoma /)
  },
)

test('with --json a group without a command says whose help lists them', async () => {
  const { code, stdout } = await run(['jobs', '--json'], { folder: folderWith() })
  expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
    code: 2,
    answer: { error: { code: 'wrong_use', message: 'a command is missing; retoma jobs --help lists them' } },
  })
})

test('without a command the help is shown, in the language', async () => {
  const { code, stderr } = await run([], { folder: folderWith(), env: pt })
  expect(code).toBe(2)
  expect(stderr).toMatch(/^Uso: retoma \[opções\] \[comando\]/)
  expect((await run(['--help'], { folder: folderWith() })).code).toBe(0)
})

test('a bad setting ends every command with exit 1, names the variable and shows no stack', async () => {
  const { code, stderr } = await run(['up'], { folder: folderWith({ '.env': 'PORT=abc' }) })
  expect(code).toBe(1)
  expect(stderr).toBe('error bad_setting: PORT is not usable: it is a whole number from 0 to 65535, not "abc"\n')
})

test('a broken config ends up with exit 1, file and line, before anything starts', async () => {
  const folder = folderWith({ 'retoma.config.ts': '\nthrow new Error("boom")' })
  const { code, stderr } = await run(['up'], { folder })
  expect(code).toBe(1)
  expect(stderr).toBe('error bad_config: retoma.config.ts:2 cannot be used: Error: boom\n')
  expect(readdirSync(folder)).toEqual(['retoma.config.ts'])
})

test('reading where there is no data says so and makes none', async () => {
  const folder = folderWith()
  const { code, stderr } = await run(['jobs', 'list'], { folder })
  expect(code).toBe(1)
  expect(stderr).toContain(`error no_data: there is no data in ${folder}/.retoma; start with \`retoma up\``)
  expect(readdirSync(folder)).toEqual([])
})

test('an unknown kind exits 2 and names the near one', async () => {
  const folder = folderWith({
    'retoma.config.ts': `import { defineJob } from 'retoma'\nexport default { jobs: [defineJob({ kind: 'hello', run: async () => 1 })] }`,
  })
  const { code, stderr } = await run(['jobs', 'enqueue', 'helo'], { folder })
  expect(code).toBe(2)
  expect(stderr).toBe('error unknown_kind: there is no job of kind "helo" here; did you mean "hello"?\n')
})

test('init writes a config and a test, says what is next, and overwrites nothing', async () => {
  const folder = folderWith()
  const { code, stdout } = await run(['init'], { folder })
  expect(code).toBe(0)
  expect(stdout).toContain('npx retoma up')
  expect(readdirSync(folder).sort()).toEqual(['hello.test.ts', 'retoma.config.ts'])
  expect(readFileSync(join(folder, 'hello.test.ts'), 'utf8')).toContain("from 'node:test'")

  const again = await run(['init'], { folder })
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('error file_exists: retoma.config.ts already exists')
})
