import { readFileSync } from 'node:fs'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PEER_A, PEER_B, scoreReport, term } from '../../src/cli/testUtils/peerAnswers.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import type { PeerRecord, PeerScoreReport, PeerStanding, ScoreThreshold } from '../../src/p2p/base/schemas.ts'
import { RECORD, STANDING } from '../../src/rpc/testUtils/recorder.ts'
import { findChromium, startChromium } from '../support/chromium.ts'
import { healthReport, type ServedPage, servePage } from '../support/servedPage.ts'

const chromium = findChromium()
const PHONE = { width: 390, height: 844 }
/** The static peer that is not connected. */
const AWAY = '16Uiu2HAmPGTDSVNPiwGLMPVEgUNN3yVQT4wAUCTPGq7nn92uMWRZ'
const NEAR = '16Uiu2HAkvWbN45e8MSNbbRbtbCnRcPpmMPYcdrMtpf5XgrKGiBSo'
const FAR = PEER_A
const BANNED = PEER_B

const record = (peerID: string, userAgent: string, latencyMs: number): PeerRecord => ({
  ...RECORD,
  ...{ peerID, userAgent, latency: latencyMs * 1e6, connectedness: 1, direction: latencyMs < 100 ? 1 : 2 },
})
const standing = (peerID: string, changes: Partial<PeerStanding>): PeerStanding => ({
  ...STANDING,
  ...{ peerID, score: 1, ...changes },
})
const limit = (name: ScoreThreshold['name'], value: number): ScoreThreshold => ({
  ...{ name, value, below: value > -40, effect: 'something', changesInS: null },
})

function bannedReport(): PeerScoreReport {
  const application = { ...scoreReport().application, score: -40, validResponses: term(0, 0.5) }
  const untilMs = Date.now() + 3_600_000
  return scoreReport({
    ...{ peerID: BANNED, connected: false, total: -40, forgottenInS: 600 },
    application: { ...application, rejectedPayloads: term(4, -10) },
    thresholds: [
      limit('mesh', 0),
      limit('gossip', -10),
      limit('publish', -40),
      limit('graylist', -40),
      limit('ban', -100),
    ],
    ban: { subject: BANNED, kind: 'peer', reason: 'because', untilMs, remainingS: 3_600 },
  })
}

/** The page of a node with two peers, a banned peer, and a disconnected static peer. */
function serve(access?: Parameters<typeof servePage>[1]): Promise<ServedPage> {
  const { ban } = bannedReport()
  return servePage(
    {
      peers: async () => ({
        ...{ totalConnected: 2, bannedPeers: [], bannedIPS: [], bannedSubnets: [], timeBans: [] },
        peers: { [NEAR]: record(NEAR, 'near/v1', 3), [FAR]: record(FAR, 'far/v1', 140) },
      }),
      standings: () => [
        standing(FAR, { score: 7 }),
        standing(NEAR, { inMesh: true }),
        standing(BANNED, { connected: false, score: -40, ban }),
      ],
      health: async () =>
        healthReport({
          staticPeers: [
            { peerID: NEAR, connected: true, sinceMs: 0, failure: null },
            {
              ...{ peerID: AWAY, connected: false, sinceMs: 0 },
              failure: { reason: 'refused', text: 'nothing listens there', atMs: 0 },
            },
          ],
        }),
      peerScore: async (id) => [
        id === BANNED ? bannedReport() : scoreReport({ peerID: id ?? '', connected: id !== AWAY }),
      ],
      peerHistory: async (id) => [{ peerID: id ?? '', events: [] }],
    },
    access,
  )
}

describe.skipIf(chromium === undefined)('the peers on the dashboard', () => {
  let browser: Browser
  let served: ServedPage
  let page: Page
  beforeAll(async () => {
    ;[browser, served] = await Promise.all([startChromium(chromium ?? ''), serve()])
    page = await open(served)
  })
  afterAll(async () => {
    await browser?.close()
    await served?.close()
  })
  afterEach(() => page.keyboard.press('Escape'))

  async function open({ url }: ServedPage): Promise<Page> {
    const opened = await browser.newPage({ viewport: PHONE })
    opened.setDefaultTimeout(WAIT_LIMIT_MS)
    await opened.goto(url)
    await rowOf(AWAY, opened).waitFor()
    return opened
  }
  const rowOf = (id: string, on = page) => on.locator(`.peers tr[data-peer="${id}"]`)
  const seenIn = (row: Locator) => row.locator('td:visible').allTextContents()
  const order = () =>
    page.locator('.peers tbody tr').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-peer')))

  it('show why a static peer is not connected', async () => {
    expect(await rowOf(AWAY).textContent()).toMatch(/not connected.*static, nothing listens there/)
    expect(await rowOf(AWAY).getAttribute('data-tone')).toBe('warned')
    await rowOf(AWAY).getByRole('button').click()
    await page.locator('#peer .away').getByText('Nothing listens there.').waitFor()
  })

  it('show the same data on a phone, and can be sorted there', async () => {
    await expect
      .poll(() => seenIn(rowOf(NEAR)))
      .toEqual(expect.arrayContaining(['near/v1', 'inbound', '3 ms', 'in the mesh']))
    for (const [choice, ids] of [
      ['Latency, shortest first', [NEAR, FAR]],
      ['Score, highest first', [FAR, NEAR]],
    ] as const) {
      await page.getByLabel('Sort by').selectOption(choice)
      expect((await order()).filter((id) => id === NEAR || id === FAR)).toEqual(ids)
    }
  })

  it('show the times of a block and its strip on a phone', async () => {
    const row = page.locator('.blocks tbody tr').first()
    const [number, ...cells] = await seenIn(row)
    expect(number).toMatch(/^5 /)
    expect(cells).toEqual(['signed –', '+0 ms from guarded', 'executed +20 ms', 'safe not yet', ''])
    expect(await row.locator('.narrow:visible').count()).toBe(4)
    const { width } = (await row.locator('.strip svg').boundingBox()) ?? { width: 0 }
    expect(width).toBeGreaterThan(300)
  })

  it('have no focusable element on a phone that is hidden', async () => {
    const controls = await page.locator('main').locator('a, button, input, select, [role=button]').count()
    const seen = new Set<string>()
    for (let step = 0; step < controls * 2; step++) {
      await page.keyboard.press('Tab')
      const { name, width, height } = await page.evaluate<{ name: string; width: number; height: number }>(FOCUSED)
      seen.add(name)
      expect([name, width > 8 && height > 8]).toEqual([name, true])
    }
    expect([...seen]).toEqual(expect.arrayContaining(['peer-order', BANNED]))
  })

  it('show each threshold by name, and the end of a refusal', async () => {
    await rowOf(BANNED).getByRole('button').click()
    const sheet = page.locator('#peer')
    await sheet.locator('.limits').waitFor()
    const named = 'Thresholds: mesh 0 (crossed) · gossip -10 (crossed) · publish, graylist -40 · ban -100'
    expect(await sheet.locator('.limits').textContent()).toBe(named)
    expect(await sheet.locator('.score-bar svg').getAttribute('aria-label')).toBe(
      `Score -40: false blocks -40. ${named}`,
    )
    expect(await sheet.locator('.score-bar text').count()).toBe(4)
    expect(await sheet.textContent()).toMatch(/Refused until \d\d:\d\d:\d\d \(60 min left\), unless/)
  })

  it('have an address each, which works with back, forward and reload', async () => {
    await rowOf(BANNED).getByRole('button').click()
    const name = page.locator('#peer .id').first()
    await expect.poll(() => page.url()).toBe(`${served.url}#peer=${BANNED}`)
    await page.reload()
    await expect.poll(() => name.textContent()).toBe(BANNED)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(served.url)
    await page.goBack()
    await page.locator('#peer[open]').waitFor()
    await page.goForward()
    await page.locator('#peer:not([open])').waitFor({ state: 'hidden' })
    await page.getByLabel('Show', { exact: true }).selectOption('refused')
    await expect.poll(order).toEqual([BANNED])
    expect(page.url()).toBe(`${served.url}#show=refused`)
    await page.goto(`${served.url}#search=near`)
    await expect.poll(order).toEqual([NEAR])
    await page.goto(served.url)
    await rowOf(AWAY).waitFor()
  })

  it('have a button that copies the id', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await rowOf(NEAR).getByRole('button').click()
    await page.getByRole('button', { name: 'Copy the peer id' }).click()
    await page.locator('#toast.shown').getByText('Copied the peer id.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(NEAR)
  })

  const refused = (subject: string) => page.locator(`[data-refused="${subject}"]`)
  const confirm = (label: string) => page.locator('#ask').getByRole('button', { name: label, exact: true }).click()

  it('that are refused are listed with the reason, and can be unblocked', async () => {
    await expect
      .poll(() => refused(RECORD.peerID).allTextContents())
      .toEqual([
        expect.stringMatching(/^guardedpeerscorethis node0 ms/),
        expect.stringMatching(/^guardedpeersent old blocksoperator, .+until unblocked/),
      ])
    await refused('10.1.0.0/16').getByRole('button', { name: 'Unblock 10.1.0.0/16' }).click()
    await confirm('Unblock')
    await expect.poll(() => served.calls).toContainEqual(['unblockSubnet', '10.1.0.0/16'])
  })

  it('are blocked by address, connected by multiaddress, and blocked from a file', async () => {
    for (const [label, text, call] of [
      ['Block', '203.0.113.7', ['block', '203.0.113.7', undefined]],
      ['Connect', `/ip4/127.0.0.1/tcp/1/p2p/${NEAR}`, ['connectPeer', `/ip4/127.0.0.1/tcp/1/p2p/${NEAR}`]],
    ] as const) {
      await page.getByLabel(`${label}: `).fill(text)
      await page.locator('#refusals-forms').getByRole('button', { name: label, exact: true }).click()
      await confirm(label)
      await expect.poll(() => served.calls).toContainEqual(call)
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).click(),
    ])
    expect(JSON.parse(readFileSync(await download.path(), 'utf8'))).toMatchObject({
      blocks: [{ subject: RECORD.peerID, reason: 'sent old blocks' }, {}, { subject: 'fd00::/8' }],
    })
    await page.locator('#import-lists').setInputFiles({
      ...{ name: 'lists.json', mimeType: 'application/json' },
      buffer: Buffer.from(JSON.stringify({ blocks: [{ subject: FAR, reason: 'far' }, { subject: '192.0.2.0/24' }] })),
    })
    await confirm('Block')
    await expect.poll(() => served.calls).toContainEqual(['block', '192.0.2.0/24', ''])
    expect(served.calls).toContainEqual(['block', FAR, 'far'])
  })

  it('are killed with a command of their testnet, and the page shows its result', async () => {
    const panel = page.locator('#testnet')
    const done = panel.locator('#testnet-done li')
    await panel.getByLabel('Command', { exact: true }).selectOption('kill')
    await panel.getByText('End a program at once.').waitFor()
    for (const [name, answer] of [
      ['nobody', 'kill nobody there is no program "nobody"'],
      ['verifier1', 'kill verifier1 It is killed. Look at its peers.'],
    ] as const) {
      await panel.getByLabel('Arguments of the command').fill(name)
      await panel.getByRole('button', { name: 'Run' }).click()
      await expect.poll(() => done.first().textContent()).toContain(answer)
    }
    expect(served.calls).toContainEqual(['testnet', 'kill', 'verifier1'])
  })

  it('cannot be blocked if the node refuses all changes, and the page says so', async () => {
    const guarded = await serve({ token: undefined, guardsReading: false })
    onTestFinished(guarded.close)
    const opened = await open(guarded)
    onTestFinished(() => opened.close())
    await rowOf(NEAR, opened).getByRole('button').click()
    await opened
      .locator('#peer')
      .getByText(/Start the node with --rpc.token-file/)
      .waitFor()
    expect(await opened.locator('#peer .sheet-actions').getByRole('button').count()).toBe(0)
    expect(await opened.locator('#refusals-forms').getByRole('button').count()).toBe(0)
  })
})

/** Run in the page: the focused element, and its visible share. */
const FOCUSED = `(() => {
  const { activeElement: element } = document
  let { left, right, top, bottom } = element.getBoundingClientRect()
  for (let around = element.parentElement; around !== null; around = around.parentElement) {
    if (getComputedStyle(around).overflow === 'visible') continue
    const box = around.getBoundingClientRect()
    left = Math.max(left, box.left)
    right = Math.min(right, box.right)
    top = Math.max(top, box.top)
    bottom = Math.min(bottom, box.bottom)
  }
  return { name: element.id || element.title || element.textContent, width: right - left, height: bottom - top }
})()`
