import { expect, it } from 'vitest'
import { checkDashboardFlags, shownNodes } from './dashboardFlags.ts'

it('reads the nodes that the page shows', () => {
  expect(shownNodes(['b=http://10.0.0.2:9545/', 'https://node.example'])).toEqual([
    { name: 'b', url: 'http://10.0.0.2:9545' },
    { name: 'node.example', url: 'https://node.example' },
  ])
})

it.each([
  [{ dashboardNodes: ['x=ftp://a'] }, /--dashboard.nodes: expected name=http:/],
  [{ dashboardNodes: ['a=http://a', 'x=ws://u:secret@b'] }, /^--dashboard.nodes: expected name=http:\/\/… as entry 2$/],
  [{ dashboardNodes: ['x=http://u:secret@a'] }, /remove user and password from http:\/\/a\. /],
  [{ dashboard: false, dashboardNodes: ['x=http://a'] }, /--dashboard.nodes requires --dashboard/],
  [{ dashboard: false, dashboardTestnet: '/tmp' }, /--dashboard.testnet requires --dashboard/],
  [{ dashboardBatcher: 'a:1' }, /--dashboard.batcher must be/],
  [{ dashboardBatcherTokenFile: 'token' }, /--dashboard.batcher-token-file requires --dashboard.batcher/],
])('refuses %j', (changes, message) => {
  const values = {
    dashboard: true,
    dashboardNodes: [],
    dashboardBatcher: undefined,
    dashboardBatcherTokenFile: undefined,
    dashboardTestnet: undefined,
    ...changes,
  }
  expect(() => checkDashboardFlags(values)).toThrow(message)
})
