import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { scoreReport } from '../../src/cli/testUtils/peerAnswers.ts'
import type { TokenAccess } from '../../src/jsonRpc/bearerToken.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { RECORD } from '../../src/rpc/testUtils/recorder.ts'
import { findChromium, startChromium } from '../support/chromium.ts'
import { healthReport, servePage } from '../support/servedPage.ts'

const chromium = findChromium()
const TOKEN = 'a-token/of=some+length'
const PEER = RECORD.peerID

/** The page of a node with one peer. */
async function serve(access: TokenAccess) {
  const peer = { ...RECORD, connectedness: 1 as const, direction: 1 as const }
  const dump = { totalConnected: 1, peers: { [PEER]: peer }, bannedPeers: [], bannedIPS: [], bannedSubnets: [] }
  const served = await servePage(
    {
      peers: async () => ({ ...dump, timeBans: [] }),
      health: async () => healthReport(),
      peerScore: async () => [scoreReport({ peerID: PEER })],
    },
    access,
  )
  onTestFinished(served.close)
  return served
}

describe.skipIf(chromium === undefined)('the dashboard of a node that requires a token', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startChromium(chromium ?? '')
  })
  afterAll(() => browser?.close())

  async function open(access: TokenAccess) {
    const served = await serve(access)
    const page = await browser.newPage()
    page.setDefaultTimeout(WAIT_LIMIT_MS)
    onTestFinished(() => page.close())
    await page.goto(served.url)
    const block = async () => {
      await page.locator('.peers .link').click()
      await page.locator('#peer').getByRole('button', { name: 'Block', exact: true }).click()
      await page.locator('#ask').getByRole('button', { name: 'Block', exact: true }).click()
    }
    const show = async (token: string) => {
      await page.locator('#token').fill(token)
      await page.locator('#ask').getByRole('button', { name: 'Use token' }).click()
    }
    return { ...served, page, block, show }
  }
  const changes = (calls: unknown[][]) => calls.filter(([name]) => name === 'block')

  it('requests it before a change, and keeps it for the tab only', async () => {
    const { page, calls, block, show } = await open({ token: TOKEN, guardsReading: false })
    await block()
    await page.getByRole('heading', { name: 'guarded requires a token' }).waitFor()
    expect(changes(calls)).toEqual([])
    await show(TOKEN)
    await expect.poll(() => changes(calls)).toEqual([['block', PEER, undefined]])
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(TOKEN)
    expect(page.url()).not.toContain(TOKEN)
  })

  it('reports a wrong token', async () => {
    const { page, calls, block, show } = await open({ token: TOKEN, guardsReading: false })
    await block()
    await show('another-token-of-some-length')
    await page.getByText('Block failed: deviump2p_block changes something').waitFor()
    expect(changes(calls)).toEqual([])
  })

  it('requests it before reading, if reading requires it', async () => {
    const { page, show } = await open({ token: TOKEN, guardsReading: true })
    await page.getByRole('heading', { level: 1, name: /^Guarded is unreachable\. / }).waitFor()
    await page.getByRole('button', { name: 'Enter a token' }).click()
    await show(TOKEN)
    await page.locator('.peers .link').waitFor()
  })
})
