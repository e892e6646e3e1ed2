/** A project and 24 short documents, to see a classification without files of one's own. */
export const sampleProject = {
  nome: 'Exemplo: documentos de um escritório',
  categorias: ['Contrato', 'Petição inicial', 'Procuração', 'Recibo', 'Outros'],
  instrucoes: 'Um aditivo conta como contrato.',
}

const kinds: readonly (readonly [name: string, text: string])[] = [
  ['contrato-de-locacao', 'Contrato de locação: o locador cede ao locatário o imóvel pelo prazo de doze meses.'],
  ['peticao-inicial', 'Petição inicial: o autor vem propor a presente ação de cobrança. Esta petição inicial requer…'],
  [
    'procuracao',
    'Procuração: pelo presente instrumento nomeio meu procurador. A procuração vale para o foro em geral.',
  ],
  ['recibo', 'Recibo: recebi a importância de mil reais, da qual dou recibo e plena quitação.'],
  ['ata-de-reuniao', 'Reunião de terça-feira: presentes cinco pessoas; discutiu-se a agenda do mês.'],
  ['aditivo-de-contrato', 'Aditivo: as partes alteram a cláusula terceira do contrato. O contrato segue no restante.'],
]

export const sampleDocuments = Array.from({ length: 24 }, (_, index) => {
  const [name, texto] = kinds[index % kinds.length]!
  return { codigo: `${name}-${String(Math.floor(index / kinds.length) + 1).padStart(2, '0')}.txt`, texto }
})
