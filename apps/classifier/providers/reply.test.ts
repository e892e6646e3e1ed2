/** Real texts of models, and the categories read from the texts. */
import { describe, expect, test } from 'vitest'
import { objectsIn } from './json-objects.ts'
import { type Read, readReply } from './reply.ts'

const categories = ['Contrato', 'Petição Inicial', 'Outros']
const right = '{"categoria": "Contrato", "confianca": 0.93, "justificativa": "Há cláusulas."}'
const wrong = '{"categoria": "Outros", "confianca": 0.2, "justificativa": "Talvez."}'
const reply = { category: 'Contrato', confidence: 0.93, justification: 'Há cláusulas.' }
const read = (content: string): Read => readReply(content, categories)

describe('a block of reasoning is skipped, whatever objects it holds', () => {
  test.each([
    [`<think>Primeiro pensei em ${wrong}.</think>\n${right}`],
    [`<thinking mode="deep">${wrong}</thinking>${right}`],
    [`<THINK>\n${wrong}\n</THINK>\n\`\`\`json\n${right}\n\`\`\``],
    [`[THINK]${wrong}[/THINK]${right}`],
    [`◁think▷${wrong}◁/think▷${right}`],
    [`${wrong} então não.</think>${right}`],
    [`<think>a <think>b ${wrong}</think> c ${wrong}</think>${right}`],
    [`<think>${wrong}</think><reasoning>${wrong}</reasoning>${right}`],
    [`${right}\n<think>ou seria ${wrong}?`],
    [`<|channel|>analysis<|message|>${wrong}<|end|><|start|>assistant<|channel|>final<|message|>${right}`],
    [`{"reasoning": ${wrong}, "resposta": ${right}}`],
    ['{"categoria": "Contrato", "confianca": 0.93, "justificativa": "Há cláusulas.", "thinking": "<think>Outros"}'],
  ])('%s', content => {
    expect(read(content)).toEqual({ is: 'reply', reply })
  })

  test.each([[`<think>${right}`], [`<think>${right}</think>`], [`${right}</think>`]])(
    '%s is no answer: it is all reasoning',
    content => {
      expect(read(content)).toEqual({ is: 'garbage' })
    },
  )
})

describe('the object that names a category is taken', () => {
  test.each([
    [`{"nota": 1} ${right}`],
    [`Formato pedido: {"categoria": string}. Resposta: ${right}`],
    [`{"resultado": ${right}}`],
    [`{"ok": true, "dados": [{"pagina": 1}, ${right}]}`],
    [`[[${right}]]`],
    ['{"categoria": {"nome": "Contrato", "confianca": 0.93}, "justificativa": "Há cláusulas."}'],
    ['{"classificacao": {"categoria": "contrato"}, "confianca": 0.93, "justificativa": "Há cláusulas."}'],
    ['{"categoria": ["Contrato"], "confianca": 0.93, "justificativa": "Há cláusulas."}'],
    [`{"categoria": "Contrato", "confianca": 0.93, "justificativa": "Há cláusulas.", "alternativas": [${wrong}]}`],
    [`${right} Repito: ${right}`],
    ['{"categoria": "Contrato",\n"confianca": 0.93,\n"justificativa": "Há cláusulas.",\n}'],
  ])('%s', content => {
    expect(read(content)).toEqual({ is: 'reply', reply })
  })

  test('a raw line break in a string is forgiven', () => {
    expect(read('{"categoria": "Contrato", "justificativa": "uma\nduas"}')).toMatchObject({
      reply: { category: 'Contrato', justification: 'uma\nduas' },
    })
  })
})

describe('several that disagree are no answer', () => {
  test.each([
    [`${wrong} ${right}`],
    [`[${wrong}, ${right}]`],
    [`{"a": ${wrong}, "b": ${right}}`],
    ['{"categoria": "Outros", "categoria": "Contrato"}'],
    ['{"categoria": "Outros", "category": "Contrato"}'],
    ['{"categoria": ["Outros", "Contrato"]}'],
    ['{"categoria": "Sentença"} {"categoria": "Contrato"}'],
  ])('%s', content => {
    expect(read(content)).toEqual({ is: 'several' })
  })
})

describe('a confidence above 1 is a percentage from 2 to 100 without decimals, or with its sign', () => {
  test.each([
    ['0', 0],
    ['0.5', 0.5],
    ['1', 1],
    ['1.0', 1],
    ['"1,0"', 1],
    ['"0,93"', 0.93],
    ['2', 0.02],
    ['93', 0.93],
    ['"93"', 0.93],
    ['100', 1],
    ['"93%"', 0.93],
    ['"93,5 %"', 0.935],
    ['"0.5%"', 0.005],
    ['"1 %"', 0.01],
    ['"100%"', 1],
    ['1.5', null],
    ['93.5', null],
    ['"93.0"', null],
    ['1.01', null],
    ['101', null],
    ['"101 %"', null],
    ['-1', null],
    ['1e2', 1],
    ['1e300', null],
    ['"alta"', null],
    ['null', null],
    ['true', null],
    ['[0.9]', null],
  ])('%s is %s', (written, confidence) => {
    expect(read(`{"categoria": "Contrato", "confianca": ${written}}`)).toMatchObject({ reply: { confidence } })
  })
})

test('objects are found with every field they were written with, and no others', () => {
  expect(objectsIn('{"a": 1, "a": [true, null, {"b": "\\u00e9"}]} {} {x} {"c": -1.5e2')).toEqual([
    {
      fields: [
        ['a', 1],
        ['a', [true, null, { fields: [['b', 'é']] }]],
      ],
    },
    { fields: [] },
  ])
  expect(objectsIn('{"a": {"b": 1}, c')).toEqual([{ fields: [['b', 1]] }])
  expect(objectsIn(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`)).toHaveLength(1)
})

describe('the time to read an answer grows with its length, whatever it is', () => {
  const hostile: [string, (n: number) => string][] = [
    ['braces', n => '{'.repeat(n)],
    ['objects without an end', n => '{"a":'.repeat(n / 5)],
    ['lists without an end', n => `{"a":${'['.repeat(n)}`],
    ['strings without an end', n => '{"'.repeat(n / 2)],
    ['fences', n => '```a '.repeat(n / 5)],
    ['tags', n => '<think'.repeat(n / 6)],
    ['blocks', n => '<think></think>'.repeat(n / 15)],
    ['backslashes', n => `{"${'\\'.repeat(n)}`],
    ['fields', n => `{${'"a":1,'.repeat(n / 6)}"b":1}`],
    ['blanks', n => `{${' '.repeat(n)}{`],
    ['digits', n => `{"a":${'1'.repeat(n)}x`],
  ]
  const cpuOf = (text: string): number => {
    const before = process.cpuUsage()
    readReply(text, categories)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }

  test.each(hostile)('%s', (_, make) => {
    cpuOf(make(20_000))
    const short = Math.min(cpuOf(make(40_000)), cpuOf(make(40_000)), cpuOf(make(40_000)))
    const long = Math.min(cpuOf(make(160_000)), cpuOf(make(160_000)), cpuOf(make(160_000)))
    // Four times the length; quadratic work would take sixteen times. A few milliseconds are too short for a ratio.
    expect(long).toBeLessThan(Math.max(short * 10, 100))
  })
})
