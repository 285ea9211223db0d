import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { testnetLayout } from '../runner/layout.ts'
import { fetchInvitation } from './fetchInvitation.ts'
import { type Invitation, serveInvitation } from './invitation.ts'
import { joinTestnet } from './joinTestnet.ts'

const INVITATION: Invitation = {
  ...{ version: 1, l2ChainId: 901, peerId: '16Uiu2' },
  files: { genesis: '{}', rollupConfig: '{"genesis":{"l2_time":1}}', l1Config: '{}' },
  ports: { l1: 9500, beacon: 9504, transactions: 41_002, p2p: 9514 },
}
const { signal } = new AbortController()

async function served(create: () => Invitation): Promise<string> {
  const server = await serveInvitation(create, '127.0.0.1', 0)
  onTestFinished(() => server.close())
  return server.url
}

it('is fetched with the address of the machine that serves it', async () => {
  const url = await served(() => INVITATION)
  expect(await fetchInvitation(url, signal)).toEqual({ invitation: INVITATION, ip: '127.0.0.1' })
})

it('is refused if it is not ready, missing, or something else', async () => {
  const early = await served(() => {
    throw new Error('no genesis.json')
  })
  await expect(fetchInvitation(early, signal)).rejects.toThrow(/has no testnet to join: it answers with status 503/)
  const other = await served(() => ({ ...INVITATION, files: { ...INVITATION.files, ...{ '../passwd': 'x' } } }))
  await expect(fetchInvitation(other, signal)).rejects.toThrow(/has no testnet to join: /)
  await expect(fetchInvitation('file:///etc/passwd', signal)).rejects.toThrow('join: expected http://HOST:PORT')
})

it('replaces the files of a node whole, and names a damaged one', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-join-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const { joinDir, genesis, rollupConfig } = testnetLayout(dir)
  mkdirSync(joinDir)
  writeFileSync(genesis, 'old')
  linkSync(genesis, join(dir, 'old'))
  const joining = { url: await served(() => INVITATION), dir, basePort: 0 }
  const context = { signal, fail: () => {}, print: () => {} }
  // The programs do not start with this genesis. At that point the files have been written.
  await joinTestnet(joining, context).catch(() => {})
  expect(readFileSync(genesis, 'utf8')).toBe('{}')
  expect(readFileSync(join(dir, 'old'), 'utf8')).toBe('old')
  writeFileSync(rollupConfig, '{"genesis":')
  await expect(joinTestnet(joining, context)).rejects.toThrow(`${rollupConfig} is damaged`)
})

it('starts nothing in a directory that holds a node of another testnet', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-join-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const context = { signal, fail: () => {}, print: () => {} }
  // The programs do not start with this genesis. At that point the files have been written.
  await joinTestnet({ url: await served(() => INVITATION), dir, basePort: 0 }, context).catch(() => {})
  const another = { ...INVITATION, files: { ...INVITATION.files, rollupConfig: '{"genesis":{"l2_time":2}}' } }
  const joining = joinTestnet({ url: await served(() => another), dir, basePort: 0 }, context)
  await expect(joining).rejects.toThrow(/holds a node of another testnet/)
})
