// SPDX-License-Identifier: MIT
// Places on axes on which every bin is equally wide.

/// Where a value lies on an axis on which the bins between edges are equally wide: 0 to edges.length + 1.
export function quantilePlace(edges, [low, high], value) {
  const all = [low, ...edges, high];
  if (!(value > all[0])) return 0;
  if (value >= all[all.length - 1]) return all.length - 1;
  let bin = 0;
  while (bin + 1 < all.length - 1 && all[bin + 1] <= value) ++bin;
  const span = all[bin + 1] - all[bin];
  return bin + (span > 0 ? Math.min(1, Math.max(0, (value - all[bin]) / span)) : 0);
}

/// About `wanted` of the places 0..n, with the first and the last.
export function spread(n, wanted) {
  const step = Math.max(1, Math.ceil(n / Math.max(1, wanted)));
  const places = [];
  for (let place = 0; place <= n; place += step) places.push(place);
  if (n - places[places.length - 1] >= step / 2) places.push(n);
  else places[places.length - 1] = n;
  return places;
}
