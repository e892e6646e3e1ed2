import { expect, test } from 'vitest'
import { csvHead, csvRow } from './csv.ts'
import type { Result } from './store/results.ts'

const result: Result = {
  n: 1,
  codigo: 'a.pdf',
  status: 'CONCLUIDO',
  tentativas: 1,
  erro_mensagem: null,
  erro_stack: null,
  ultimo_erro_em: null,
  categoria: 'Contrato',
  confianca: 0.95,
  justificativa: 'diz "contrato"; e é',
  modelo: 'm',
  tokens_entrada: 1200,
  tokens_saida: 30,
  custo_usd: '0.125001',
  simulado: false,
  reaproveitado: false,
  duplicado_de: null,
  resposta_ia: null,
  categoria_ia: 'Contrato',
  categorias: ['Contrato'],
  categorias_ia: ['Contrato'],
  revisar: false,
  revisao: null,
  revisado_por: null,
  revisado_em: null,
  ocr: false,
  ocr_paginas: null,
  ocr_confianca: null,
  ocr_segundos: null,
}

test('a table begins with its mark and its names', () => {
  expect(csvHead()).toBe(
    '\uFEFFcodigo;categoria;confianca;justificativa;status;modelo;tokens_entrada;tokens_saida;custo_usd;simulado;moeda;custo_usd_exato;erro_mensagem;categoria_ia;revisao;revisado_por;revisado_em;categorias;ocr;ocr_paginas;ocr_confianca;ocr_segundos\r\n',
  )
})

test('numbers have a decimal comma, quotes are doubled, nothing is an empty field', () => {
  expect(csvRow(result, true)).toBe(
    '"a.pdf";"Contrato";"0,95";"diz ""contrato""; e é";"CONCLUIDO";"m";"1200";"30";"0,13";"false";"USD";"0,125001";"";"Contrato";"";"";"";"Contrato";"false";"";"";""\r\n',
  )
  const none = {
    categoria: null,
    confianca: null,
    justificativa: null,
    modelo: null,
    tokens_entrada: null,
    categoria_ia: null,
    categorias: [null],
  }
  const pending = { ...result, ...none, tokens_saida: null, custo_usd: null, simulado: null, status: 'ERRO' as const }
  expect(csvRow({ ...pending, erro_mensagem: 'o PDF "a" falhou' }, true)).toBe(
    '"a.pdf";"";"";"";"ERRO";"";"";"";"";"true";"USD";"";"o PDF ""a"" falhou";"";"";"";"";"";"false";"";"";""\r\n',
  )
})

test.each([
  '=1+1',
  '+1+1',
  '-1+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  ' =1',
  '"=1',
  "'=1",
  '\u00a0=1',
  '\u200b=1',
  '＝1',
  "=cmd|' /C calc'!A0",
])('%j is text in a spreadsheet, not a formula', text => {
  const row = csvRow({ ...result, codigo: text, justificativa: text }, false)
  const quoted = `"'${text.replaceAll('"', '""')}"`
  expect(row.startsWith(`${quoted};`)).toBe(true)
  expect(row).toContain(`;${quoted};"CONCLUIDO"`)
})

test.each(['5', '12,5', 'a=b', 'e-mail', '3+4'])('%j is left as it is', text => {
  expect(csvRow({ ...result, codigo: text }, false).startsWith(`"${text}";`)).toBe(true)
})
