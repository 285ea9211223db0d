import { expect, it } from 'vitest'
import { foreignOrigin, isOriginListed } from './originCheck.ts'

it.each([
  ['no web page', undefined, undefined, true],
  ['a page of this machine', 'http://localhost:3000', '127.0.0.1:9545', true],
  ['a page of this server, by its address', 'http://10.0.0.2:9545', '10.0.0.2:9545', true],
  ['the same over IPv6', 'http://[2001:db8::1]:9545', '[2001:db8::1]:9545', true],
  ['a page of another port there', 'http://10.0.0.2:80', '10.0.0.2:9545', false],
  ['a page whose name may point anywhere', 'http://evil.example:9545', 'evil.example:9545', false],
  ['a page without an origin', 'null', '10.0.0.2:9545', false],
  ['one that is trusted', 'https://good.example', '10.0.0.2:9545', true],
])('%s', (_id, origin, host, isOurs) => {
  expect(foreignOrigin(origin, ['https://good.example'], host)).toBe(isOurs ? undefined : origin)
})

it.each([
  ['any', '*', 'https://a.example', true],
  ['any port', 'http://localhost:*', 'http://localhost:5173', true],
  ['any port, of another host', 'http://localhost:*', 'http://localhost.evil.example:80', false],
  ['any port, by another scheme', 'http://localhost:*', 'https://localhost:5173', false],
  ['any subdomain', 'https://*.a.example', 'https://b.A.example', true],
  ['any subdomain, of another domain', 'https://*.a.example', 'https://a.example', false],
  ['a start and an end that overlap', 'https://aba*aba', 'https://aba', false],
])('lists %s', (_id, entry, origin, isListed) => {
  expect(isOriginListed(origin, ['http://other.example', entry])).toBe(isListed)
})
