drop table quotes.quote;
