/** `paginas`: the pages of a document that count, on a project, on an execution, and when documents run again. */
import { expect, test } from 'vitest'
import { goodPdf } from './test/pdfs.ts'
import { realDoor } from './test/real-door.ts'

test('a project, an execution and a new run choose pages; the text of other pages is neither read nor paid for', async () => {
  const { act, ask, fetch, project, run, server } = await realDoor()
  const pdf = goodPdf(['D-1 contrato', 'página dois', 'D-3 anexo'])
  const send = async (projeto_id: string, paginas?: string) => {
    const form = new FormData()
    form.append('projeto_id', projeto_id)
    if (paginas !== undefined) form.append('paginas', paginas)
    form.append('arquivos', new Blob([new Uint8Array(pdf)]), 'a.pdf')
    const made = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
    return { status: made.status, body: (await made.json()) as { id: string } }
  }
  const projeto_id = await project({ paginas: ' 1, -1' })
  expect((await ask('GET', `/projetos/${projeto_id}`)).body).toMatchObject({ paginas: '1,-1' })
  const asked = () => server.calls.at(-1)!.asked.at(-1)!.content
  const first = (await send(projeto_id)).body.id
  await run()
  expect(asked()).toBe('D-1 contrato\nD-3 anexo')
  expect((await ask('GET', `/execucoes/${first}`)).body).toMatchObject({ paginas: '1,-1' })
  expect((await ask('GET', `/execucoes/${first}/resultados`)).body.items[0].justificativa).toContain(
    'Só as páginas 1 e 3, de 3, contam, pela escolha de páginas.',
  )
  await send(projeto_id, '2')
  await run()
  expect(asked()).toBe('página dois')
  // Another choice of pages is another question: the paid answer is not used again.
  const again = async (body: object) => (await act(first, 'nova', { body: { reaproveitar: true, ...body } })).body.id
  await again({ paginas: null })
  await run()
  expect(asked()).toBe('D-1 contrato\npágina dois\nD-3 anexo')
  const calls = server.calls.length
  const same = await again({})
  await run()
  expect((await ask('GET', `/execucoes/${same}`)).body).toMatchObject({ paginas: '1,-1', custo_usd: '0.00' })
  expect(server.calls).toHaveLength(calls)
  const none = await again({ paginas: '8' })
  await run()
  expect((await ask('GET', `/execucoes/${none}/documentos`)).body.items[0]).toMatchObject({
    status: 'PULADO',
    erro_mensagem: 'nenhuma página da escolha "8" existe: o documento tem 3 páginas',
  })
  const refused = { status: 400, body: { error: { code: 'bad_request', field: 'paginas' } } }
  for (const paginas of ['0', '3-1', 'x', '1,'.repeat(200)]) {
    expect(await send(projeto_id, paginas)).toMatchObject(refused)
    expect(await act(first, 'nova', { body: { paginas } })).toMatchObject(refused)
    expect(await ask('PATCH', `/projetos/${projeto_id}`, { body: { paginas } })).toMatchObject(refused)
  }
})
