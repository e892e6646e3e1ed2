/** An enum, because not every loader of TypeScript can read one. */
export enum Form {
  Short,
  Long,
}

export const greeting = (name: string, form: Form): string => (form === Form.Short ? `Hi, ${name}` : `Hello, ${name}`)
