/** The addresses of the pages of the documents. */
export const paths = {
  home: '/documentos/',
  bank: '/documentos/contas',
  document: (id: string) => `/documentos/${encodeURIComponent(id)}`,
} as const
