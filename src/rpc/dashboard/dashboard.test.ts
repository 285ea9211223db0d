import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { addDashboard } from './dashboard.ts'

const OTHERS = [{ name: 'b', url: 'http://127.0.0.1:9510' }]

function page(nodes = OTHERS) {
  const routes = new Hono()
  addDashboard(routes, { name: 'a', nodes, refusesChanges: true })
  return async (path: string, host?: string) => {
    const response = await routes.request(path, host === undefined ? {} : { headers: { host } })
    const { status, headers } = response
    return { status, headers: Object.fromEntries(headers), text: await response.text() }
  }
}

describe('the dashboard', () => {
  it('has a policy that allows only its own files and the nodes that it shows', async () => {
    const { status, headers } = await page()('/dashboard')
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['content-security-policy']?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self' ws://127.0.0.1:9510",
      "img-src 'self' data:",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "form-action 'none'",
    ])
  })

  it.each([
    ['10.0.0.7:9510', '10.0.0.7'],
    ['devnet.lan', 'devnet.lan'],
    ['[fd00::7]:9510', '[fd00::7]'],
    // Not valid in a policy.
    ['x;script-src', 'localhost'],
    [undefined, 'localhost'],
  ])('shows nodes beside it by the name by which it was reached: %s', async (host, name) => {
    const get = page([{ name: 'b', url: 'http://0.0.0.0:9520' }])
    const { headers } = await get('/dashboard', host)
    expect(headers['cross-origin-opener-policy']).toBe(name === 'localhost' ? 'same-origin' : undefined)
    expect(headers['content-security-policy']).toContain(`; connect-src 'self' ws://${name}:9520; img-src`)
    const { text } = await get('/dashboard/nodes.json', host)
    expect(JSON.parse(text).others).toEqual([{ name: 'b', webSocket: `ws://${name}:9520` }])
  })

  it('serves everything that its files name, without types and package names', async () => {
    const get = page()
    const seen = new Set<string>()
    const visit = async (name: string): Promise<void> => {
      if (seen.has(name)) return
      seen.add(name)
      const { status, headers, text } = await get(`/dashboard/${name}`)
      expect([name, status]).toEqual([name, 200])
      const isScript = /\.(ts|js)$/.test(name)
      if (isScript) expect(headers['content-type']).toMatch(/^text\/javascript/)
      // An import that a browser could not resolve fails here.
      for (const [, from = ''] of text.matchAll(/^(?:import|export)[^'\n]* from '([^']+)'/gm)) {
        expect(from).toMatch(/^\.\//)
        await visit(from.slice(2))
      }
    }
    const { text } = await get('/dashboard')
    const named = [...text.matchAll(/(?:src|href)="dashboard\/([^"]+)"/g)].map(([, name = '']) => name)
    expect(named).toContain('main.ts')
    for (const name of named) await visit(name)
    expect(seen).toContain('uplot.js')
    expect(JSON.parse((await get('/dashboard/nodes.json')).text)).toEqual({
      ...{ name: 'a', refusesChanges: true },
      others: [{ name: 'b', webSocket: 'ws://127.0.0.1:9510' }],
    })
  })

  it('has no inline script or style, which its policy forbids', async () => {
    const { text } = await page()('/dashboard')
    expect(text).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=/)
  })

  it.each(['nothing.ts', 'tsconfig.json', '..%2fpackage.json', '%2e%2e/package.json'])(
    'does not serve %s',
    async (name) => {
      expect((await page()(`/dashboard/${name}`)).status).toBe(404)
    },
  )
})
