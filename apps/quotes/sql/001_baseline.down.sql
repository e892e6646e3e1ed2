drop view quotes.quote_requests;
drop table quotes.turn, quotes.fipe, quotes.reading, quotes.quote, quotes.batch;
