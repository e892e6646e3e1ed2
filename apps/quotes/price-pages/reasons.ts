/** Defines the sentences for pages without a usable price. */
import type { Language, LocalizedText } from 'retoma'
import type { NoPriceReason } from '../providers/types.ts'

/** `{fact}`: the status, the currency or the like. */
const reasons: Readonly<Record<NoPriceReason, LocalizedText>> = {
  bad_link: {
    en: 'the link is not a usable http or https address',
    pt: 'o link não é um endereço http ou https utilizável',
  },
  forbidden_address: {
    en: 'the link leads to an address that is not on the public internet',
    pt: 'o link leva a um endereço que não está na internet pública',
  },
  robots: {
    en: 'the robots.txt of the shop does not allow the page',
    pt: 'o robots.txt da loja não permite a página',
  },
  unreachable: {
    en: 'the shop could not be reached, or broke off in the middle of the page ({fact})',
    pt: 'a loja não pôde ser alcançada, ou interrompeu a página no meio ({fact})',
  },
  timeout: {
    en: 'the shop did not send the whole page within {fact} s',
    pt: 'a loja não enviou a página inteira em {fact} s',
  },
  too_large: {
    en: 'the page has more than {fact} MB',
    pt: 'a página tem mais de {fact} MB',
  },
  too_many_redirects: {
    en: 'the link leads through more than {fact} redirects',
    pt: 'o link passa por mais de {fact} redirecionamentos',
  },
  http_status: {
    en: 'the shop answered with status {fact}',
    pt: 'a loja respondeu com o status {fact}',
  },
  not_html: {
    en: 'the link leads to no HTML page ({fact})',
    pt: 'o link não leva a uma página HTML ({fact})',
  },
  bad_encoding: {
    en: 'the page cannot be decompressed ({fact})',
    pt: 'a página não pode ser descomprimida ({fact})',
  },
  unreadable: {
    en: 'the page could not be read within the limits of time and memory',
    pt: 'a página não pôde ser lida dentro dos limites de tempo e memória',
  },
  no_price: {
    en: 'the page names no price in JSON-LD, microdata or meta tags',
    pt: 'a página não informa um preço em JSON-LD, microdados ou metatags',
  },
  other_currency: {
    en: 'the price is not in BRL ({fact})',
    pt: 'o preço não está em BRL ({fact})',
  },
  out_of_stock: {
    en: 'the product is out of stock',
    pt: 'o produto está esgotado',
  },
  several_products: {
    en: 'the page lists several products',
    pt: 'a página lista vários produtos',
  },
}

/** The users of the quotes read Portuguese. */
export const sentenceOf = (reason: NoPriceReason, fact: string | number = '-', language: Language = 'pt'): string =>
  reasons[reason][language].replace('{fact}', () => String(fact))
