import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { startAnvil } from '../../test/support/anvil.ts'
import { anvilArguments, findAnvil, L1_HARDFORK, loadTrustedSetup, takeNewestState } from './anvil.ts'

let directory: string
let newest: string
let state: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devium-anvil-'))
  newest = join(directory, 'state.new.json')
  state = join(directory, 'state.json')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('takeNewestState', () => {
  it('reports that there is no state', () => {
    expect(takeNewestState(newest, state)).toBe(false)
  })

  it('replaces the old state by a complete new one', () => {
    writeFileSync(state, '{"old":1}')
    writeFileSync(newest, '{"new":1}')
    expect(takeNewestState(newest, state)).toBe(true)
    expect(readFileSync(state, 'utf8')).toBe('{"new":1}')
    expect(existsSync(newest)).toBe(false)
  })

  it('keeps the old state if the new one is incomplete, and moves the new one aside', () => {
    writeFileSync(state, '{"old":1}')
    const text = JSON.stringify({ 'a}': ['\\', '"}', { b: '{' }], c: { d: '\\"' } })
    const incomplete = Array.from(text, (_, length) => text.slice(0, length))
    for (const part of [...incomplete, text.replace('b', '\0')]) {
      writeFileSync(newest, part)
      expect(takeNewestState(newest, state), part).toBe(true)
      expect(readFileSync(state, 'utf8'), part).toBe('{"old":1}')
      expect(readFileSync(`${newest}.incomplete`, 'utf8')).toBe(part)
      expect(existsSync(newest)).toBe(false)
    }
    writeFileSync(newest, text)
    takeNewestState(newest, state)
    expect(readFileSync(state, 'utf8')).toBe(text)
  })

  it('names a file that it cannot read', () => {
    mkdirSync(newest)
    expect(() => takeNewestState(newest, state)).toThrow(UsageError)
    expect(() => takeNewestState(newest, state)).toThrow(newest)
    expect(existsSync(newest)).toBe(true)
  })
})

describe('loadTrustedSetup', () => {
  it('requests a valid proof from Anvil', async () => {
    const anvil = await startAnvil({ hardfork: L1_HARDFORK, args: ['--no-mining'] })
    const l1 = createPatientClient({ url: anvil.url })
    try {
      await loadTrustedSetup(l1, new AbortController().signal)
    } finally {
      await l1.close()
      await anvil.stop()
    }
  })
})

describe('anvilArguments', () => {
  const options = {
    host: '127.0.0.1',
    port: 9500,
    chain: { l1ChainId: 900, l1BlockTime: 2, genesisTime: 1_700_000_000 },
    dumpTo: 'new',
    cacheDir: 'cache',
  }

  it('starts a new chain that mines on demand, below the genesis time', () => {
    const args = anvilArguments(options).join(' ')
    expect(args).toContain('--no-mining')
    expect(args).toContain('--timestamp 1699999998')
    expect(args).not.toContain('--load-state')
  })

  it('finalizes blocks only after Anvil has written them', () => {
    const slots = (l1BlockTime: number) => {
      const args = anvilArguments({ ...options, chain: { ...options.chain, l1BlockTime } })
      return Number(args[args.indexOf('--slots-in-an-epoch') + 1])
    }
    for (const l1BlockTime of [1, 2, 3, 12]) expect(2 * slots(l1BlockTime) * l1BlockTime).toBeGreaterThanOrEqual(15)
    expect(slots(2)).toBe(4)
  })

  it('continues a kept chain on the real clock', () => {
    const args = anvilArguments({ ...options, loadFrom: 'old' }).join(' ')
    expect(args).toContain('--load-state old --block-time 2')
    expect(args).not.toContain('--timestamp')
  })
})

it('finds the binary of this platform', () => {
  expect(existsSync(findAnvil())).toBe(true)
})
