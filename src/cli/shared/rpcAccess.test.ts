import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { rpcAccess } from './rpcAccess.ts'

function access(rpcAddr: string, { hasFile = false, rpcTokenRead = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'devium-access-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const warnings: string[] = []
  const values = { rpcAddr, rpcTokenFile: hasFile ? join(folder, 'token') : undefined, rpcTokenRead }
  return { given: rpcAccess(values, { warn: (message) => warnings.push(message) }), warnings }
}

it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('%s requires no token', (address) => {
  expect(access(address)).toEqual({ given: undefined, warnings: [] })
})

it.each(['0.0.0.0', '::', '10.0.0.1', 'node.example'])('%s without a token: changes are refused', (address) => {
  expect(access(address)).toEqual({
    given: { token: undefined, guardsReading: false },
    warnings: [expect.stringContaining('token')],
  })
})

it.each(['127.0.0.1', '0.0.0.0'])('%s with a token file requires the token', (address) => {
  const token = expect.stringMatching(/^0x/)
  expect(access(address, { hasFile: true })).toEqual({ given: { token, guardsReading: false }, warnings: [] })
  const { given } = access(address, { hasFile: true, rpcTokenRead: true })
  expect(given).toEqual({ token, guardsReading: true })
})

it('protecting reads requires a token', () => {
  expect(() => access('0.0.0.0', { rpcTokenRead: true })).toThrow(
    errorWith('usage', '--rpc.token-read', '--rpc.token-file'),
  )
})
