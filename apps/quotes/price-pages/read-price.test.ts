/** Reads the prices of saved pages (test/pages), one page for each form in which shops write a price. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ReadPrice, readPrice } from './read-price.ts'

const read = (
  name: string,
  contentType: string | null = 'text/html; charset=utf-8',
  finalUrl = 'https://loja.example.com.br/p/1',
): ReadPrice => {
  const page = new Uint8Array(readFileSync(new URL(`../test/pages/${name}.html`, import.meta.url)))
  return readPrice({ page, contentType, finalUrl })
}

test.each([
  ['01-jsonld-offer', '2499.00', 'json-ld', 'Smart TV 50 4K'],
  ['02-jsonld-number-price', '349.90', 'json-ld', 'Cafeteira'],
  ['03-jsonld-brazilian-text', '3499.00', 'json-ld', 'Notebook'],
  ['04-jsonld-offers-array', '189.90', 'json-ld', 'Fone'],
  ['05-jsonld-aggregate', '4299.90', 'json-ld', 'Geladeira'],
  ['06-jsonld-aggregate-nested', '1199.50', 'json-ld', 'Fogão'],
  ['07-jsonld-graph', '1899.99', 'json-ld', 'Bicicleta Aro 29'],
  ['08-jsonld-graph-id', '799.00', 'json-ld', 'Relógio'],
  ['09-jsonld-array-root', '89.90', 'json-ld', 'Mouse'],
  ['10-jsonld-product-group', '299.90', 'json-ld', 'Tênis'],
  ['11-jsonld-price-specification', '649.00', 'json-ld', 'Micro-ondas'],
  ['12-jsonld-type-array', '1234567.89', 'json-ld', 'Carro seminovo'],
  ['13-jsonld-full-type-urls', '59.90', 'json-ld', 'Livro'],
  ['14-jsonld-mainentity', '1099.00', 'json-ld', 'Cadeira'],
  ['15-jsonld-several-scripts', '459.00', 'json-ld', 'Teclado mecânico'],
  ['16-jsonld-related-products', '1299.00', 'json-ld', 'Monitor 27'],
  ['17-jsonld-trailing-comma', '129.90', 'json-ld', 'Panela'],
  ['18-jsonld-line-breaks', '2199.00', 'json-ld', 'Sofá'],
  ['19-jsonld-comment-cdata', '159.90', 'json-ld', 'Ventilador'],
  ['20-jsonld-entities', '88.00', 'json-ld', 'Luminária & Abajur'],
  ['21-jsonld-concatenated', '379.00', 'json-ld', 'Mala'],
  ['22-jsonld-url-of-page', '50.00', 'json-ld', 'Kit A'],
  ['23-jsonld-used-and-new', '1500.00', 'json-ld', 'Celular'],
  ['24-jsonld-no-currency-br', '249.00', 'json-ld', 'Perfume'],
  ['25-microdata-content', '189.90', 'microdata', 'Liquidificador'],
  ['26-microdata-text', '1249.90', 'microdata', 'Furadeira'],
  ['27-microdata-aggregate', '699.00', 'microdata', 'Impressora'],
  ['28-microdata-broken-html', '459.00', 'microdata', 'Aspirador'],
  ['29-microdata-loose', '1899.00', 'microdata', 'Loja'],
  ['30-microdata-price-in-product', '329.90', 'microdata', 'Barraca'],
  ['31-meta-product-price', '599.90', 'meta', 'Caixa de som'],
  ['32-meta-og-price-brazilian', '1599.90', 'meta', 'Loja'],
  ['33-meta-sale-price', '849.99', 'meta', 'Loja'],
  ['34-meta-twitter', '77.70', 'meta', 'Loja'],
  ['38-jsonld-before-meta', '2999.00', 'json-ld', 'Drone'],
  ['39-empty-jsonld-then-microdata', '219.00', 'microdata', 'Patins'],
])('%s: %s from %s', (name, price, source, title) => {
  const found = read(name)
  expect(found).toMatchObject({ found: true, price, currency: 'BRL', source, title })
  // The snippet is the part of the page with the digits of the price.
  const { snippet } = found as { snippet: string }
  expect(snippet.length).toBeLessThanOrEqual(300)
  expect(snippet.replace(/<[^>]*>|\D/g, '') + snippet.replace(/\D/g, '')).toContain(
    String(BigInt(price.split('.')[0]!)),
  )
})

test.each([
  ['35-latin1-meta', 'text/html', '2345.67', 'Fogão de indução'],
  ['36-wrong-charset-header', 'text/html; charset=utf-8', '512.00', 'Purificador de água'],
  ['36-wrong-charset-header', 'text/html; charset=none-such', '512.00', 'Purificador de água'],
  ['37-utf16', 'text/html', '1999.00', 'Ar-condicionado'],
])('%s as %s: the letters of the title are right', (name, contentType, price, title) => {
  expect(read(name, contentType)).toMatchObject({ found: true, price, title })
})

test.each([
  ['40-no-price', { reason: 'no_price' }],
  ['41-out-of-stock', { reason: 'out_of_stock' }],
  ['42-other-currency', { reason: 'other_currency', currency: 'USD' }],
  ['43-category-list', { reason: 'several_products' }],
  ['45-instalments-only', { reason: 'no_price' }],
  ['46-empty', { reason: 'no_price' }],
])('%s has no usable price and says why: %o', (name, why) => {
  expect(read(name)).toMatchObject({ found: false, ...why })
})

test('a price without a currency counts only on a Brazilian page', () => {
  expect(read('44-currency-unknown')).toMatchObject({ found: true, price: '49.00' })
  expect(read('44-currency-unknown', 'text/html', 'https://shop.example.com/p/1')).toMatchObject({
    found: false,
    reason: 'other_currency',
    currency: null,
  })
})

test('of several products and variants the one with the address of the page counts', () => {
  expect(read('22-jsonld-url-of-page', null, 'https://loja.example.com.br/kit-b')).toMatchObject({ price: '75.00' })
  expect(read('10-jsonld-product-group', null, 'https://loja.example.com.br/tenis?tam=42')).toMatchObject({
    price: '319.90',
  })
})

test('hostile pages end without an error: deep JSON, deep tags, endless properties, a million scripts', () => {
  const pages = [
    `<script type="application/ld+json">${'['.repeat(200_000)}${']'.repeat(200_000)}</script>`,
    `<script type="application/ld+json">${'{"offers":'.repeat(20_000)}1${'}'.repeat(20_000)}</script>`,
    '<div itemscope itemtype="https://schema.org/Product" itemprop="offers">'.repeat(5000),
    '<b itemprop="price">'.repeat(5000),
    '<script type="application/ld+json">{}</script>'.repeat(20_000),
    `<meta property="product:price:amount" content="${'9'.repeat(100_000)}">`,
    '<script type="application/ld+json">{"@type":"Product","__proto__":{"price":"1"},"offers":{"price":"1e999"}}</script>',
  ]
  for (const page of pages)
    expect(
      readPrice({ page: Buffer.from(page), contentType: null, finalUrl: 'https://loja.example.com.br/' }),
    ).toMatchObject({ found: false })
})
