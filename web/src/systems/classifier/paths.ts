/** The addresses of the classifier's pages. */
export const paths = {
  home: '/classificador/',
  projects: '/classificador/projetos',
  create: '/classificador/nova',
  createFor: (project: string) => `/classificador/nova?projeto=${encodeURIComponent(project)}`,
  execution: (id: string) => `/classificador/execucoes/${id}`,
} as const
